/** The page's elements by id. Text is only ever set as text: nothing here can become markup. */

export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element "${id}"`);
  return found;
}

export const input = (id: string) => element(id) as HTMLInputElement;
export const select = (id: string) => element(id) as HTMLSelectElement;
export const button = (id: string) => element(id) as HTMLButtonElement;

/** Leaves an unchanged text alone: a live region would say it again. */
export function write(id: string, text: string): void {
  const at = element(id);
  if (at.textContent !== text) at.textContent = text;
}

export function show(id: string, shown: boolean): void {
  element(id).hidden = !shown;
}
