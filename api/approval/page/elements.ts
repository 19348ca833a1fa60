/** The page's elements by id. Text is only ever set as text: nothing here can become markup. */

export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element "${id}"`);
  return found as T;
}

export const input = (id: string): HTMLInputElement => element<HTMLInputElement>(id);
export const select = (id: string): HTMLSelectElement => element<HTMLSelectElement>(id);
export const button = (id: string): HTMLButtonElement => element<HTMLButtonElement>(id);

/** Leaves an unchanged text alone: a live region would say it again. */
export function write(id: string, text: string): void {
  const at = element(id);
  if (at.textContent !== text) at.textContent = text;
}

export function show(id: string, shown: boolean): void {
  element(id).hidden = !shown;
}
