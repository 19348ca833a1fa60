// Hands each request to the test, which is the wallet. `bridge.js` says where it listens.
importScripts('bridge.js');

chrome.runtime.onMessage.addListener((call, _sender, answer) => {
  fetch(self.BRIDGE, { method: 'POST', body: JSON.stringify(call) })
    .then((response) => response.json())
    .then(answer, (error) => answer({ error: { code: -32603, message: String(error) } }));
  return true;
});
