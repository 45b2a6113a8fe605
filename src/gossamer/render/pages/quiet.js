// Resolves once the document has not changed for some milliseconds, or has grown by more nodes than allowed.
// It runs in an isolated world: a page cannot see it, nor replace the functions that it uses.
(milliseconds, maxNodes) => new Promise((resolve) => {
  let added = 0;
  let timer = 0;
  let turns = 0;
  // React shows what has loaded up to half a second late, so that "Loading ..." does not flicker.
  const isLoading = () => {
    const body = document.body;
    if (!body) return false;
    if (body.querySelector('[aria-busy="true"], [role="progressbar"]')) return true;
    const text = body.innerText;
    return text.length < 5000 && /\bloading\b|\bplease wait\b/i.test(text);
  };
  const finish = () => {
    observer.disconnect();
    clearTimeout(timer);
    resolve(added);
  };
  // Several short timers instead of a long one, and idle time after each: where the machine is busy, the work that a
  // page has queued runs in between, and one long timer could be due before it. Once it waits for two frames too, because
  // lists that load what is in view look only at frames.
  const step = () => (++turns < 5 || (isLoading() && turns < 50) ? wait() : finish());
  const wait = () => {
    const current = setTimeout(() => {
      const goOn = () => {
        if (timer === current) step();
      };
      if (turns === 2) afterTwoFrames(goOn);
      else requestIdleCallback(goOn, { timeout: 1000 });
    }, milliseconds / 5);
    timer = current;
  };
  const afterTwoFrames = (then) => {
    let isDone = false;
    const once = () => {
      if (isDone) return;
      isDone = true;
      then();
    };
    requestAnimationFrame(() => requestAnimationFrame(once));
    setTimeout(once, 1000);
  };
  const restart = () => {
    clearTimeout(timer);
    turns = 0;
    wait();
  };
  const observer = new MutationObserver((records) => {
    for (const record of records) added += record.addedNodes.length;
    if (added > maxNodes) finish();
    else restart();
  });
  const changes = { childList: true, characterData: true, subtree: true };
  const shadowRoot = Object.getOwnPropertyDescriptor(Element.prototype, "shadowRoot").get;
  const watch = (root) => {
    observer.observe(root, changes);
    const elements = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let visited = 0; visited < maxNodes && elements.nextNode(); visited++) {
      const shadow = shadowRoot.call(elements.currentNode);
      if (shadow) watch(shadow);
    }
  };
  watch(document);
  restart();
})
