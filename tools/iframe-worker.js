/* A browser starts no worker from a file. There the search runs in a hidden frame instead, so that the site needs no
   server. The name of this file tells Zensical that it need not fetch such a script. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (message) => {
        const data = structuredClone(message); // neither side sees what the other does to its copy
        setTimeout(() => this.onmessage && this.onmessage({ data }));
      };
      const script = inside.document.createElement("script");
      script.src = new URL(address, location).href;
      this.loaded = new Promise((resolve) => { script.onload = resolve; });
      inside.document.head.append(script);
    }

    postMessage(message) {
      const data = structuredClone(message);
      this.loaded.then(() => this.frame.contentWindow && this.frame.contentWindow.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
