// The page's side of the wallet: an EIP-1193 provider that announces itself (EIP-6963), as real extensions do.
(() => {
  const pending = new Map();
  const listeners = new Map();
  let last = 0;

  const provider = Object.freeze({
    request: ({ method, params = [] }) =>
      new Promise((resolve, reject) => {
        last += 1;
        pending.set(last, { resolve, reject });
        window.postMessage({ toWallet: true, id: last, method, params }, window.origin);
      }),
    on: (event, listener) => {
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    },
  });

  window.addEventListener('message', ({ source, data }) => {
    if (source !== window || data?.fromWallet !== true) return;
    if (data.event !== undefined) {
      for (const listener of listeners.get(data.event) ?? []) listener(data.value);
      return;
    }
    const waiting = pending.get(data.id);
    pending.delete(data.id);
    if (data.error === undefined) waiting?.resolve(data.result);
    else waiting?.reject(Object.assign(new Error(data.error.message), data.error));
  });

  const icon =
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='%23e08a00'/></svg>";
  const info = Object.freeze({
    uuid: '0f0b7a52-0c5e-4a4e-8f0e-2f7c7b1d0a11',
    name: 'Test wallet',
    icon,
    rdns: 'test.wallet',
  });
  const announce = () =>
    window.dispatchEvent(
      new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }),
    );
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
})();
