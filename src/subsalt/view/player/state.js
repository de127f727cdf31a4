// What is shown: one object, and its form as the fragment of a link.

/** Defaults; `point` is [x, [y,] z] in m or null, `region` a [low, high] pair per axis or null. */
function newState(meta) {
  const middle = meta.axes.map((a) => a.origin + Math.floor(a.n / 2) * a.spacing);
  return {
    frame: meta.opening, playing: false, speed: 1, loop: true, backward: false,
    clip: meta.clip ?? Math.max(0, meta.percentiles.indexOf(99)), gain: 0, palette: "grey", under: meta.still ? 0 : 0.6,
    perFrame: false, marks: true, cross: true, solo: "", point: meta.point ?? (meta.axes.length === 3 ? middle : null), region: null,
  };
}

/** Read what a link says into the state; what cannot be understood is passed over. */
function readLink(state, meta, fragment) {
  const link = new URLSearchParams(fragment.replace(/^#/, ""));
  const number = (key) => {
    const text = link.get(key);
    const value = Number(text);
    return text === null || text.trim() === "" || !Number.isFinite(value) ? null : value;
  };
  const t = number("t");
  if (t !== null) state.frame = nearest(meta.times, t);
  const clip = number("clip");
  if (clip !== null) state.clip = nearest(meta.percentiles, clip);
  const gain = number("gain");
  if (gain !== null) state.gain = Math.min(60, Math.max(-30, gain));
  const under = number("velocity");
  if (under !== null && !meta.still) state.under = Math.min(1, Math.max(0, under / 100));
  const speed = number("speed");
  if (speed !== null && SPEEDS.includes(speed)) state.speed = speed;
  if (Object.hasOwn(PALETTES, link.get("palette") ?? "")) state.palette = link.get("palette");
  if (link.has("scale")) state.perFrame = link.get("scale") === "frame";
  if (link.has("loop")) state.loop = link.get("loop") !== "0";
  if (link.has("backward")) state.backward = link.get("backward") === "1";
  if (link.has("marks")) state.marks = link.get("marks") !== "0";
  if (link.has("cross")) state.cross = link.get("cross") !== "0";
  if (meta.fields.some((f) => f.name === link.get("show"))) state.solo = link.get("show");
  const point = meta.axes.map((a) => number(a.name));
  if (point.every((p) => p !== null)) state.point = meta.axes.map((a, i) => within(a, point[i]));
  const parts = (link.get("region") ?? "").split(",").map((p) => p.split(":").map(Number));
  if (parts.length === meta.axes.length && parts.every((p) => p.length === 2 && p.every(Number.isFinite))) {
    state.region = parts.map((p, i) => [within(meta.axes[i], Math.min(...p)), within(meta.axes[i], Math.max(...p))]);
  }
}

/** The fragment that shows this moment again. */
function linkOf(state, meta) {
  const link = new URLSearchParams();
  if (!meta.still) link.set("t", shortest(meta.times[state.frame], 5));
  link.set("clip", meta.percentiles[state.clip]);
  if (state.gain) link.set("gain", state.gain);
  if (state.palette !== "grey") link.set("palette", state.palette);
  if (!meta.still && state.under !== 0.6) link.set("velocity", Math.round(state.under * 100));
  if (state.speed !== 1) link.set("speed", state.speed);
  if (state.perFrame) link.set("scale", "frame");
  if (!state.loop) link.set("loop", "0");
  if (state.backward) link.set("backward", "1");
  if (!state.marks) link.set("marks", "0");
  if (!state.cross) link.set("cross", "0");
  if (state.solo) link.set("show", state.solo);
  if (state.point) meta.axes.forEach((a, i) => link.set(a.name, shortest(state.point[i], a.unit === "s" ? 5 : 2)));
  if (state.region) link.set("region", regionText(state.region));
  // colons and commas may stand in a fragment, and read better than their escapes
  return "#" + link.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
}

/** x0:x1[,y0:y1],z0:z1 in m, as `subsalt reimage --region` takes it. */
function regionText(region) {
  return region.map(([lo, hi]) => `${shortest(lo, 2)}:${shortest(hi, 2)}`).join(",");
}

/** The number with at most so many decimals, without trailing zeros. */
function shortest(value, decimals) {
  return String(Number(value.toFixed(decimals)) || 0);
}

/** Index of the entry nearest to a value. */
function nearest(values, wanted) {
  let best = 0;
  values.forEach((v, i) => { if (Math.abs(v - wanted) < Math.abs(values[best] - wanted)) best = i; });
  return best;
}

/** Last place of an axis, m. */
function lastOf(axis) {
  return axis.origin + (axis.n - 1) * axis.spacing;
}

/** A place moved into an axis. */
function within(axis, metres) {
  return Math.min(lastOf(axis), Math.max(axis.origin, metres));
}

/** Index of the grid point nearest to a place. */
function indexOf(axis, metres) {
  return Math.min(axis.n - 1, Math.max(0, Math.round((metres - axis.origin) / axis.spacing)));
}
