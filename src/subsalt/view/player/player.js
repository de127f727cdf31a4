// The viewer of a movie: state, clock, layout. Everything that changes what is shown goes through change().

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const FRAMES_PER_SECOND = 24;
// windows that a panel may be high: pictures fill their columns before they fit the height
const HIGHEST = 1.5;

class MovieViewer {
  constructor(meta, frames, state) {
    Object.assign(this, { meta, frames, state });
    this.units = unitsOf(meta.axes);
    this.velocities = velocityColours(meta.velocity.colours);
    this.cursor = null;
    this.hovering = null;
    this.drawn = 0;
    this.shown = -1;
    this.panels = meta.fields.map((field) => new Panel(this, field));
    this.slices = this.panels.flatMap((p) => p.slices);
    byId("panels").append(...this.panels.map((p) => p.box));
    new ResizeObserver(() => this.layout()).observe(byId("panels"));
  }

  /** Take in scales and clips of all frames: float32 scales field by field, then one byte per frame and percentile. */
  useTables(bytes) {
    const [count, percentiles] = [this.meta.times.length, this.meta.percentiles.length];
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    let at = 0;
    for (const panel of this.panels) {
      panel.scale = Float32Array.from({ length: count }, (_, i) => view.getFloat32(at + 4 * i, true));
      at += 4 * count;
    }
    for (const panel of this.panels) {
      panel.levels = bytes.subarray(at, at + count * percentiles);
      at += count * percentiles;
    }
  }

  /** Change what is shown, draw it, and remember it in the address. */
  change(changes) {
    Object.assign(this.state, changes);
    const { state, meta } = this;
    state.frame = Math.min(meta.times.length - 1, Math.max(0, state.frame));
    if ("solo" in changes || "palette" in changes) this.layout();
    if (["marks", "cross", "region", "point"].some((key) => key in changes)) this.markAll();
    controls.show(this);
    this.stale = true;
    this.wake();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      if (!state.playing) history.replaceState(null, "", linkOf(state, meta));
    }, 250);
  }

  /** Draw soon; go on for as long as the movie plays or data are on their way. */
  wake() {
    if (!this.asked) this.asked = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.asked = 0;
    const { state, meta } = this;
    if (state.playing) {
      this.owed = Math.min(8, (this.owed ?? 0) + (now - (this.before ?? now)) / 1000 * FRAMES_PER_SECOND * state.speed);
      const steps = Math.floor(this.owed);
      // the next frame waits for the data of this one, so that a slow source slows the movie and leaves no gap
      if (steps > 0 && !this.stale) {
        this.owed -= steps;
        this.move(steps);
      }
    }
    this.before = state.playing ? now : null;
    if (this.stale) this.draw();
    if (state.playing) this.wake();
    if (meta.served && this.stale && this.frames.failed) this.trouble(`no answer from subsalt: ${this.frames.failed.message}`);
  }

  /** Go on by frames, round at the ends when looping, else stop there. */
  move(steps) {
    const { state, meta } = this;
    const count = meta.times.length;
    let next = state.frame + (state.backward ? -steps : steps);
    if (next < 0 || next >= count) {
      if (state.loop) next = ((next % count) + count) % count;
      else {
        next = next < 0 ? 0 : count - 1;
        this.change({ playing: false });
      }
    }
    state.frame = next;
    this.stale = true;
  }

  toggle() {
    const { state, meta } = this;
    const end = state.backward ? 0 : meta.times.length - 1;
    const frame = !state.playing && !state.loop && state.frame === end ? meta.times.length - 1 - end : state.frame;
    this.owed = 1;
    this.before = null;
    this.change({ playing: !state.playing, frame });
  }

  step(by) {
    this.change({ playing: false, frame: this.state.frame + by });
  }

  draw() {
    const { frame } = this.state;
    let whole = true;
    for (const panel of this.panels) whole = panel.draw(frame) && whole;
    this.expect();
    if (!whole) return;
    this.stale = false;
    if (this.meta.served) this.trouble("");
    this.drawn++;
    this.shown = frame;
    document.documentElement.dataset.frame = frame;
    controls.time(this);
    this.values();
  }

  /** Ask for what comes next, where it must be asked for. */
  expect() {
    if (!this.meta.served) return;
    const { state, meta } = this;
    const coming = [];
    for (let k = 1; k <= 8; k++) {
      const frame = (state.frame + (state.backward ? -k : k) + meta.times.length) % meta.times.length;
      for (const s of this.slices.filter((one) => one.field === (state.solo || one.field))) {
        coming.push([s.field, frame, s.axis, s.index]);
      }
    }
    this.frames.expect(coming);
  }

  /** Sizes of all pictures from the width there is. */
  layout() {
    const shownPanels = this.panels.filter((p) => !this.state.solo || p.name === this.state.solo);
    for (const p of this.panels) p.box.hidden = !shownPanels.includes(p);
    const room = byId("panels").clientWidth;
    // in a frame, such as the cell of a notebook, all pictures stand in one row where they can: below a second row the
    // controls would be out of view
    const least = this.meta.axes.length === 3 || window.parent !== window ? 240 : 300;
    const columns = Math.max(1, Math.min(shownPanels.length, Math.floor(room / least)));
    const wide = Math.floor((room - 12 * (columns - 1)) / columns);
    byId("panels").style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    const tall = Math.max(220, window.innerHeight - byId("controls").offsetHeight - 130);
    for (const p of shownPanels) p.resize(wide, tall);
    this.stale = true;
    this.wake();
  }

  markAll() {
    for (const s of this.slices) s.mark();
  }

  /** Show values under the pointer, or at the point that was clicked. */
  hover(point) {
    this.cursor = point;
    // a mouse reports faster than a screen shows
    this.hovering ??= requestAnimationFrame(() => {
      this.hovering = null;
      this.markAll();
      this.values();
    });
  }

  values() {
    const point = this.cursor ?? this.state.point;
    const { axes } = this.meta;
    let speed = null;
    for (const panel of this.panels) speed = panel.value(point, this.shown) ?? speed;
    const where = point ? axes.map((a, i) => `${a.label} ${placed(a, point[i])}`).join("  ") : "";
    const vp = this.meta.still ? "" : `  vp ${shortest(speed ?? 0, 0)} m/s`;
    byId("where").textContent = speed === null || !where ? "point at a picture, or click, for values" : where + vp;
  }

  click(point) {
    this.change({ point });
  }

  /** A rectangle drawn on one slice: its two axes are set, a third keeps its range. */
  drag(slice, from, to) {
    const { axes } = this.meta;
    if (this.meta.still) return;
    const region = this.state.region?.map((r) => [...r]) ?? axes.map((a) => [a.origin, lastOf(a)]);
    for (const k of [slice.h, slice.v]) {
      // round to what a pointer can mean: a tenth of a grid step and less is noise
      const unit = 10 ** Math.floor(Math.log10(axes[k].spacing));
      region[k] = [Math.min(from[k], to[k]), Math.max(from[k], to[k])]
        .map((m) => within(axes[k], Math.round(m / unit) * unit));
    }
    this.change({ region });
  }

  trouble(text) {
    byId("trouble").textContent = text;
    byId("trouble").hidden = !text;
  }
}

/** One field: heading, value, its slices. */
class Panel {
  constructor(player, field) {
    this.player = player;
    this.name = field.name;
    this.field = field;
    this.table = new Uint32Array(VELOCITIES * 256);
    const three = player.meta.axes.length === 3;
    this.slices = three
      ? [new Slice(player, field.name, 2, 0, 1), new Slice(player, field.name, 1, 0, 2), new Slice(player, field.name, 0, 1, 2)]
      : [new Slice(player, field.name, 1, 0, 1)];
    const title = player.meta.still ? "Image" : TITLES[field.name] ?? field.name;
    this.box = make("section", { class: "panel", "aria-label": title });
    const head = make("header");
    this.output = make("output", { for: "panels" });
    this.note = make("span", { class: "note" });
    head.append(make("h2", {}, title), this.output, this.note);
    this.grid = make("div");
    this.grid.append(...this.slices.map((s) => s.box));
    this.box.append(head, this.grid);
  }

  /** The |value| at which the display clips in a frame, before gain. */
  clipOf(frame) {
    const { clip, perFrame } = this.player.state;
    if (!perFrame) return this.field.clips[clip];
    return LAW[this.levels[frame * this.player.meta.percentiles.length + clip]] * this.scale[frame];
  }

  draw(frame) {
    const { state, velocities } = this.player;
    if (this.box.hidden) return true;
    const gain = 10 ** (state.gain / 20);
    const clip = this.clipOf(frame);
    const strength = clip > 0 ? this.scale[frame] * gain / clip : 0;
    fillTable(this.table, strength, state.palette, velocities, state.under);
    const note = `clip ±${figures(clip / gain)}`;
    if (this.note.textContent !== note) this.note.textContent = note;
    if (this.player.meta.still) controls.amplitudes(clip / gain);
    return this.slices.map((s) => s.draw(frame, this.table)).every(Boolean);
  }

  /** Write the value at a point; return the velocity there, m/s, or null. */
  value(point, frame) {
    let text = "";
    let speed = null;
    if (point && frame >= 0 && !this.box.hidden) {
      const slice = this.slices.find((s) => s === this.sliceWith(point)) ?? this.slices[0];
      const found = slice.at(point, frame);
      if (found) {
        const value = Math.sign(found.level) * LAW[Math.abs(found.level)] * this.scale[frame];
        text = figures(value);
        const { low, high } = this.player.meta.velocity;
        speed = low + found.velocity / 255 * (high - low);
      }
    }
    this.output.textContent = text;
    return speed;
  }

  /** The slice on which a point lies. */
  sliceWith(point) {
    const { axes } = this.player.meta;
    const { state } = this.player;
    if (axes.length === 2) return this.slices[0];
    return this.slices.find((s) => indexOf(axes[s.axis], point[s.axis]) === indexOf(axes[s.axis], state.point[s.axis]));
  }

  resize(wide, tall) {
    const { axes } = this.player.meta;
    const [mw, mh] = [MARGIN.left + MARGIN.right, MARGIN.top + MARGIN.bottom];
    const long = axes.map((a) => a.long);
    if (axes.length === 2) {
      const [w, h] = [wide - mw, tall - mh];
      // true to scale between 1:4 and 4:1, else stretched to that, which is said
      const shape = Math.min(4, Math.max(0.25, long[0] / long[1]));
      const across = Math.min(w, HIGHEST * h * shape);
      this.slices[0].resize(Math.floor(across), Math.floor(across / shape));
      const stretch = long[0] / long[1] / shape;
      this.box.querySelector("h2").title = Math.abs(stretch - 1) > 0.01 ? `vertical scale × ${stretch.toFixed(2)}` : "";
      return;
    }
    // three sections, in a row, unfolded as a box is, or one below the other: as large as fits with what moves them
    const [x, y, z] = long;
    const [name, scale] = [
      ["row", Math.min((wide - 3 * mw) / (2 * x + y), (tall - mh) / Math.max(y, z))],
      ["unfolded", Math.min((wide - 2 * mw) / (x + y), (tall - 2 * mh) / (y + z))],
      ["stacked", Math.min((wide - mw) / Math.max(x, y), (tall - 3 * mh) / (y + 2 * z))],
    ].reduce((best, one) => (one[1] > best[1] ? one : best));
    this.grid.className = name;
    const [w, d, h] = [x, y, z].map((l) => Math.max(36, Math.floor(l * scale)));
    this.slices[0].resize(w, d);
    this.slices[1].resize(w, h);
    this.slices[2].resize(d, h);
  }
}

const TITLES = { source: "Source wavefield", receiver: "Receiver wavefield", image: "Image so far" };

function byId(id) {
  return document.getElementById(id);
}
