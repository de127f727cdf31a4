// Start: from what stands in the page, or from the server whose token the address brought.

async function begin() {
  const trouble = (text) => {
    byId("trouble").textContent = text;
    byId("trouble").hidden = false;
  };
  try {
    if (!("DecompressionStream" in window)) throw new Error("this browser is too old: it cannot unpack gzip");
    const text = byId("meta").textContent;
    let meta = JSON.parse(text);
    let player = null;
    const more = () => {
      if (!player) return;
      const part = player.frames.done;
      byId("loading").textContent = part < 1 - 1e-9 ? `unpacking ${Math.floor(100 * part)} %` : "";
      if (player.stale) player.wake();
    };
    let frames;
    if (meta.served) {
      const token = tokenOf();
      frames = new ServedFrames(meta, token, more);
      meta = await (await frames.get("movie")).json();
      frames.meta = meta;
    } else {
      frames = new PageFrames(meta, more);
    }
    const state = newState(meta);
    readLink(state, meta, location.hash);
    const tables = await frames.tables();
    player = new MovieViewer(meta, frames, state);
    player.useTables(tables);
    controls.start(player);
    player.layout();
    window.subsaltPlayer = player;
    await frames.load();
    document.documentElement.dataset.loaded = "yes";
  } catch (error) {
    trouble(`cannot show this page: ${error.message}`);
    throw error;
  }
}

/** The token from the address, from where it is taken away; a reload finds it in the storage of this tab. */
function tokenOf() {
  const link = new URLSearchParams(location.hash.slice(1));
  const token = link.get("token") ?? sessionStorage.getItem("subsalt-token") ?? "";
  sessionStorage.setItem("subsalt-token", token);
  link.delete("token");
  history.replaceState(null, "", `#${link.toString()}`);
  return token;
}

begin();
