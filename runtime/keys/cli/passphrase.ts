/** What is weak about a passphrase. A keystore file can be tried as often as a thief's machines can: length decides. */
const FEWEST_CHARACTERS = 12;
const FEWEST_DISTINCT = 6;
const FEWEST_DIGITS = 20;

/** Warnings in words, none of which quotes it; empty when nothing is weak. */
export function passphraseWarnings(passphrase: string): string[] {
  const warnings: string[] = [];
  const characters = Array.from(passphrase);
  if (characters.length < FEWEST_CHARACTERS) {
    warnings.push(`the passphrase is shorter than ${FEWEST_CHARACTERS} characters`);
  } else if (new Set(characters).size < FEWEST_DISTINCT) {
    warnings.push(`the passphrase has fewer than ${FEWEST_DISTINCT} different characters`);
  } else if (/^\d+$/.test(passphrase) && characters.length < FEWEST_DIGITS) {
    warnings.push('the passphrase is a short number');
  }
  if (passphrase.trim() !== passphrase) {
    warnings.push('the passphrase begins or ends with a space, which is easily lost');
  }
  // geth hashes the bytes as typed, ethers their compatibility form: one file, two answers.
  if (passphrase.normalize('NFKC') !== passphrase || passphrase.normalize('NFD') !== passphrase) {
    warnings.push(
      'the passphrase has letters that programs encode differently: another one may not open the file',
    );
  }
  return warnings;
}
