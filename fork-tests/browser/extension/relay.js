// Between the page and the extension's background, which alone may speak to the wallet's node.
window.addEventListener('message', ({ source, data }) => {
  if (source !== window || data?.toWallet !== true) return;
  const { id, method, params } = data;
  chrome.runtime.sendMessage({ method, params }, (answer) => {
    window.postMessage({ fromWallet: true, id, ...answer }, window.origin);
  });
});
