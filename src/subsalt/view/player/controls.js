// Buttons, sliders, keys, and the region with its command.

/** A page that stands in the source of a frame, as in the cell of a notebook, has no address that a link could hold. */
const ADDRESSLESS = location.protocol === "about:";

const controls = {
  /** Fill what depends on the movie, and listen. */
  start(player) {
    const { meta } = player;
    const title = meta.still ? meta.title : `${meta.title}, shot ${meta.shot}`;
    document.documentElement.dataset.kind = meta.still ? "still" : "movie";
    byId("title").textContent = title;
    byId("facts").textContent = [...meta.facts.map(([k, v]) => `${k}: ${v}`), meta.run && `run ${meta.run.slice(0, 16)}`]
      .filter(Boolean).join(" · ");
    document.title = title;
    byId("time").max = meta.times.length - 1;
    byId("clip").max = meta.percentiles.length - 1;
    byId("speed").append(...SPEEDS.map((s) => make("option", { value: s }, `× ${s}`)));
    byId("palette").append(...Object.entries(PALETTES).map(([k, p]) => make("option", { value: k }, p.label)));
    const { low, high } = meta.velocity;
    byId("low").textContent = shortest(low, 0);
    byId("high").textContent = `${shortest(high, 0)} m/s`;
    this.point(player);
    this.regionInputs(player);
    this.listen(player);
    this.show(player);
  },

  /** Ends of the colours of an image, whose bar stands where that of velocity does. */
  amplitudes(limit) {
    byId("low").textContent = figures(-limit);
    byId("high").textContent = figures(limit);
  },

  /** Colours of velocity as they are where there is no wave; of an image those of its amplitudes. */
  bar(player) {
    const pen = byId("bar").getContext("2d");
    if (player.meta.still) {
      const ends = PALETTES[player.state.palette].ends;
      for (let i = 0; i < 128; i++) {
        const part = (i - 63.5) / 63.5;
        const seen = ends[part < 0 ? 0 : 1].map((c) => Math.round(GROUND + (c - GROUND) * Math.abs(part)));
        pen.fillStyle = `rgb(${seen.join(",")})`;
        pen.fillRect(i, 0, 1, 10);
      }
      return;
    }
    player.velocities.forEach((colour, i) => {
      const seen = colour.map((c) => Math.round(GROUND + (c - GROUND) * player.state.under));
      pen.fillStyle = `rgb(${seen.join(",")})`;
      pen.fillRect(i * 2, 0, 2, 10);
    });
  },

  /** A slider per axis: the planes in 3-D, the point whose values are shown in 2-D. */
  point(player) {
    byId("point").append(make("legend", {}, player.meta.axes.length === 3 ? "planes" : "point"));
    for (const [k, axis] of player.meta.axes.entries()) {
      const label = make("label", {}, `${axis.label} `);
      const slider = make("input", {
        type: "range", id: `at-${axis.name}`, min: 0, max: axis.n - 1, step: 1, "aria-label": `${axis.label} of the point`,
      });
      const shown = make("output", { id: `is-${axis.name}`, for: `at-${axis.name}` });
      slider.addEventListener("input", () => this.movePoint(player, k, Number(slider.value)));
      label.append(slider, shown);
      byId("point").append(label);
    }
  },

  movePoint(player, k, index) {
    const { axes } = player.meta;
    const point = player.state.point ? [...player.state.point]
      : axes.map((a) => a.origin + Math.floor(a.n / 2) * a.spacing);
    point[k] = within(axes[k], axes[k].origin + index * axes[k].spacing);
    player.change({ point });
  },

  regionInputs(player) {
    byId("region").hidden = !player.meta.reimage;
    for (const [k, axis] of player.meta.axes.entries()) {
      for (const [end, word] of [[0, "from"], [1, "to"]]) {
        const label = make("label", {}, `${axis.name} ${word} `);
        const input = make("input", {
          type: "number", id: `region-${axis.name}${end}`, min: axis.origin, max: lastOf(axis), step: "any",
        });
        input.addEventListener("change", () => {
          if (input.value === "" || !Number.isFinite(input.valueAsNumber)) return;
          const region = player.state.region?.map((r) => [...r]) ?? player.meta.axes.map((a) => [a.origin, lastOf(a)]);
          region[k][end] = within(axis, input.valueAsNumber);
          region[k].sort((a, b) => a - b);
          player.change({ region });
        });
        label.append(input);
        byId("box").append(label);
      }
    }
  },

  listen(player) {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("play", "click", () => player.toggle());
    on("back", "click", () => player.step(-1));
    on("next", "click", () => player.step(1));
    on("time", "input", () => player.change({ playing: false, frame: Number(byId("time").value) }));
    on("speed", "change", () => player.change({ speed: Number(byId("speed").value) }));
    on("loop", "change", () => player.change({ loop: byId("loop").checked }));
    on("backward", "change", () => player.change({ backward: byId("backward").checked }));
    on("clip", "input", () => player.change({ clip: Number(byId("clip").value) }));
    on("gain", "input", () => player.change({ gain: Number(byId("gain").value) }));
    on("under", "input", () => player.change({ under: Number(byId("under").value) / 100 }));
    on("palette", "change", () => player.change({ palette: byId("palette").value }));
    on("each", "change", () => player.change({ perFrame: byId("each").checked }));
    on("marks", "change", () => player.change({ marks: byId("marks").checked }));
    on("cross", "change", () => player.change({ cross: byId("cross").checked }));
    on("clear", "click", () => player.change({ region: null }));
    on("copy", "click", () => copy(byId("command").textContent, byId("copy")));
    on("link", "click", () => this.link(player));
    byId("link").hidden = ADDRESSLESS;
    on("theme", "click", () => this.theme(player));
    on("help", "click", () => byId("keys").showModal());
    document.addEventListener("keydown", (event) => this.key(player, event));
    window.addEventListener("hashchange", () => {
      readLink(player.state, player.meta, location.hash);
      player.change({ solo: player.state.solo, point: player.state.point });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => player.markAll());
  },

  link(player) {
    if (ADDRESSLESS) return;
    const link = linkOf(player.state, player.meta);
    history.replaceState(null, "", link);
    copy(location.href.split("#")[0] + link, byId("link"));
  },

  theme(player) {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    player.markAll();
  },

  key(player, event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const kind = event.target.tagName === "INPUT" ? event.target.type : event.target.tagName;
    if (kind === "number" || kind === "SELECT") return;
    const act = this.action(player, event.key, event.shiftKey);
    // a focused button, box or slider does by itself what space and arrows mean to it
    const own = ["BUTTON", "checkbox", "SUMMARY"].includes(kind) && event.key === " ";
    const slides = kind === "range" && /^(Arrow|Home|End|Page)/.test(event.key);
    if (!act || own || slides) return;
    event.preventDefault();
    act();
  },

  /** What a key does, or undefined. */
  action(player, key, shift) {
    const { state, meta } = player;
    const set = (changes) => () => player.change(changes);
    const next = (list, now, by) => list[Math.min(list.length - 1, Math.max(0, list.indexOf(now) + by))];
    const names = Object.keys(PALETTES);
    const axis = meta.axes.findIndex((a) => a.name === key.toLowerCase());
    if (axis >= 0) {
      const here = state.point ? indexOf(meta.axes[axis], state.point[axis]) : Math.floor(meta.axes[axis].n / 2);
      return () => this.movePoint(player, axis, Math.min(meta.axes[axis].n - 1, Math.max(0, here + (shift ? -1 : 1))));
    }
    if (meta.still && !"[]-+=phcd?".includes(key)) return undefined;
    const shows = { 0: "", 1: meta.fields[0]?.name, 2: meta.fields[1]?.name, 3: meta.fields[2]?.name };
    if (shows[key] !== undefined) return set({ solo: shows[key] });
    return {
      " ": () => player.toggle(),
      ArrowLeft: () => player.step(shift ? -10 : -1),
      ArrowRight: () => player.step(shift ? 10 : 1),
      Home: set({ playing: false, frame: 0 }),
      End: set({ playing: false, frame: meta.times.length - 1 }),
      b: set({ backward: !state.backward }),
      l: set({ loop: !state.loop }),
      ",": set({ speed: next(SPEEDS, state.speed, -1) }),
      ".": set({ speed: next(SPEEDS, state.speed, 1) }),
      "[": set({ clip: Math.max(0, state.clip - 1) }),
      "]": set({ clip: Math.min(meta.percentiles.length - 1, state.clip + 1) }),
      "-": set({ gain: Math.max(-30, state.gain - 3) }),
      "+": set({ gain: Math.min(60, state.gain + 3) }),
      "=": set({ gain: Math.min(60, state.gain + 3) }),
      p: set({ palette: names[(names.indexOf(state.palette) + 1) % names.length] }),
      v: set({ under: state.under > 0 ? 0 : 0.6 }),
      f: set({ perFrame: !state.perFrame }),
      m: set({ marks: !state.marks }),
      h: set({ cross: !state.cross }),
      c: () => this.link(player),
      d: () => this.theme(player),
      Delete: set({ region: null }),
      Escape: set({ region: null, point: meta.axes.length === 3 ? state.point : null }),
      "?": () => byId("keys").showModal(),
    }[key];
  },

  /** Bring all controls to the state. */
  show(player) {
    const { state, meta } = player;
    const values = { speed: state.speed, clip: state.clip, gain: state.gain, palette: state.palette, under: Math.round(state.under * 100) };
    for (const [id, value] of Object.entries(values)) byId(id).value = value;
    const checks = { loop: state.loop, backward: state.backward, each: state.perFrame, marks: state.marks, cross: state.cross };
    for (const [id, value] of Object.entries(checks)) byId(id).checked = value;
    this.bar(player);
    byId("is-clip").textContent = `${meta.percentiles[state.clip]} %`;
    byId("is-gain").textContent = `${state.gain} dB`;
    byId("is-under").textContent = `${Math.round(state.under * 100)} %`;
    byId("play").textContent = state.playing ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", state.playing ? "pause" : "play");
    for (const [k, axis] of meta.axes.entries()) {
      const index = state.point ? indexOf(axis, state.point[k]) : Math.floor(axis.n / 2);
      byId(`at-${axis.name}`).value = index;
      byId(`is-${axis.name}`).textContent = state.point ? placed(axis, state.point[k]) : "";
      for (const end of [0, 1]) {
        byId(`region-${axis.name}${end}`).value = state.region ? shortest(state.region[k][end], 2) : "";
      }
    }
    const picked = Boolean(state.region) && Boolean(meta.reimage);
    byId("command").textContent = picked ? `${meta.reimage} --region=${regionText(state.region)} --run NEW` : "";
    byId("picked").hidden = !picked;
    byId("unpicked").hidden = picked;
    if (!state.playing) this.time(player);
  },

  time(player) {
    const { state, meta } = player;
    const text = `${meta.times[state.frame].toFixed(3)} s`;
    byId("time").value = state.frame;
    byId("time").setAttribute("aria-valuetext", text);
    byId("is-time").textContent = `${text}  ${state.frame + 1}/${meta.times.length}`;
  },
};

/** Copy a text, by hand where the page may not write to the clipboard, and say so on the button. */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.dataset.text ?? button.textContent;
  button.dataset.text = before;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = before; }, 1200);
}
