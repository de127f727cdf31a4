// One plane of one field: its pixels, and over them axes, survey, cursor, region.

const MARGIN = { left: 52, right: 18, top: 6, bottom: 30 };

class Slice {
  /** `axis` is the one that the plane is normal to; in 2-D 1, as if there were a y. `h` and `v` are those across and down. */
  constructor(player, field, axis, h, v) {
    Object.assign(this, { player, field, axis, h, v });
    const { axes } = player.meta;
    // depth goes down, y goes up as on a map
    this.up = v === 1 && axes.length === 3;
    const name = axes[h].name + axes[v].name;
    this.box = make("div", { class: "slice" });
    this.data = make("canvas", { width: axes[h].n, height: axes[v].n, "data-field": field, "data-plane": name });
    this.data.setAttribute("role", "img");
    this.data.setAttribute("aria-label", `${field} wavefield, ${axes[h].label} across, ${axes[v].label} down`
      .replace("image wavefield", "image"));
    this.over = make("canvas", { class: "over" });
    this.over.setAttribute("aria-hidden", "true");
    this.box.append(this.data, this.over);
    this.context = this.data.getContext("2d", { alpha: false });
    this.pixels = this.context.createImageData(axes[h].n, axes[v].n);
    this.words = new Uint32Array(this.pixels.data.buffer);
    // the ground of a field, and not black, until its data are here
    this.words.fill(0xff000000 | GROUND * 0x010101);
    this.context.putImageData(this.pixels, 0, 0);
    this.listen();
  }

  /** Give the picture so many pixels on screen. */
  resize(wide, tall) {
    Object.assign(this, { wide, tall });
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    const full = [wide + MARGIN.left + MARGIN.right, tall + MARGIN.top + MARGIN.bottom];
    this.box.style.width = `${full[0]}px`;
    this.box.style.height = `${full[1]}px`;
    Object.assign(this.data.style, {
      width: `${wide}px`, height: `${tall}px`, left: `${MARGIN.left}px`, top: `${MARGIN.top}px`,
    });
    this.over.width = Math.round(full[0] * ratio);
    this.over.height = Math.round(full[1] * ratio);
    Object.assign(this.over.style, { width: `${full[0]}px`, height: `${full[1]}px` });
    this.pen = this.over.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.mark();
  }

  /** Where the plane cuts, as an index of its axis. */
  get index() {
    const { meta, state } = this.player;
    return meta.axes.length === 2 ? 0 : indexOf(meta.axes[this.axis], state.point[this.axis]);
  }

  /** Draw the frame; false when its data are not here yet. */
  draw(frame, table) {
    const { frames } = this.player;
    const index = this.index;
    const levels = frames.plane(this.field, frame, this.axis, index);
    const velocity = frames.plane("velocity", 0, this.axis, index);
    if (!levels || !velocity) return false;
    paint(this.words, levels, velocity, table, this.up ? this.data.width : 0);
    this.context.putImageData(this.pixels, 0, 0);
    return true;
  }

  /** Level (signed) and velocity byte under a point; null outside, or when not here yet. */
  at(point, frame) {
    const { frames, meta } = this.player;
    const [a, b] = [meta.axes[this.h], meta.axes[this.v]];
    const levels = frames.plane(this.field, frame, this.axis, this.index);
    const velocity = frames.plane("velocity", 0, this.axis, this.index);
    if (!levels || !velocity) return null;
    const i = indexOf(b, point[this.v]) * a.n + indexOf(a, point[this.h]);
    return { level: levels[i] << 24 >> 24, velocity: velocity[i] };
  }

  /** Pixel of a place along an axis: nodes stand in the middle of their pixels. */
  across(metres) {
    const a = this.player.meta.axes[this.h];
    return MARGIN.left + (metres - a.origin + a.spacing / 2) / (a.n * a.spacing) * this.wide;
  }

  down(metres) {
    const a = this.player.meta.axes[this.v];
    const part = (metres - a.origin + a.spacing / 2) / (a.n * a.spacing);
    return MARGIN.top + (this.up ? 1 - part : part) * this.tall;
  }

  /** Point under a pixel of the overlay: the third coordinate, where there is one, is that of the plane. */
  place(px, py) {
    const { axes } = this.player.meta;
    const [a, b] = [axes[this.h], axes[this.v]];
    const point = this.player.state.point ? [...this.player.state.point] : axes.map((one) => one.origin);
    point[this.h] = within(a, a.origin - a.spacing / 2 + (px - MARGIN.left) / this.wide * a.n * a.spacing);
    const part = (py - MARGIN.top) / this.tall;
    point[this.v] = within(b, b.origin - b.spacing / 2 + (this.up ? 1 - part : part) * b.n * b.spacing);
    return point;
  }

  listen() {
    let from = null;
    const spot = (event) => {
      const box = this.over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = spot(event);
      this.over.setPointerCapture(event.pointerId);
    });
    this.over.addEventListener("pointermove", (event) => {
      const here = spot(event);
      this.player.hover(this.place(...here));
      if (from && Math.hypot(here[0] - from[0], here[1] - from[1]) > 4) {
        this.player.drag(this, this.place(...from), this.place(...here));
      }
    });
    this.over.addEventListener("pointerup", (event) => {
      const here = spot(event);
      if (from && Math.hypot(here[0] - from[0], here[1] - from[1]) <= 4) this.player.click(this.place(...here));
      from = null;
    });
    this.over.addEventListener("pointercancel", () => { from = null; });
    this.over.addEventListener("pointerleave", () => { if (!from) this.player.hover(null); });
  }

  /** Draw everything that lies over the pixels. */
  mark() {
    if (!this.pen) return;
    const { meta, state } = this.player;
    const { pen, wide, tall } = this;
    const ink = getComputedStyle(document.documentElement);
    const colour = (name) => ink.getPropertyValue(name).trim();
    pen.clearRect(0, 0, wide + MARGIN.left + MARGIN.right, tall + MARGIN.top + MARGIN.bottom);
    this.ticks(colour("--soft"), colour("--line"));
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, wide, tall);
    pen.clip();
    if (meta.axes.length === 3 && state.cross) {
      for (const axis of [this.h, this.v]) this.line(axis, state.point[axis], "rgba(255,255,255,.75)", [5, 4]);
    }
    pen.restore();
    if (state.marks) this.survey(colour("--source"), colour("--receiver"));
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left - 1, MARGIN.top - 1, wide + 2, tall + 2);
    pen.clip();
    if (state.region) this.region(state.region, colour("--pick"));
    const cursor = this.player.cursor ?? (meta.axes.length === 2 ? state.point : null);
    if (cursor && state.cross) {
      this.line(this.h, cursor[this.h], colour("--cursor"), []);
      this.line(this.v, cursor[this.v], colour("--cursor"), []);
    }
    pen.restore();
  }

  line(axis, metres, colour, dash) {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.setLineDash(dash);
    pen.beginPath();
    if (axis === this.h) {
      const x = Math.round(this.across(metres)) + 0.5;
      pen.moveTo(x, MARGIN.top);
      pen.lineTo(x, MARGIN.top + this.tall);
    } else {
      const y = Math.round(this.down(metres)) + 0.5;
      pen.moveTo(MARGIN.left, y);
      pen.lineTo(MARGIN.left + this.wide, y);
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  region(region, colour) {
    const { pen } = this;
    const [x0, x1] = region[this.h].map((m) => this.across(m));
    const [y0, y1] = region[this.v].map((m) => this.down(m)).sort((a, b) => a - b);
    pen.fillStyle = colour;
    pen.globalAlpha = 0.14;
    pen.fillRect(x0, y0, x1 - x0, y1 - y0);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }

  /** Sources as stars, receivers as triangles, all of them brought onto the plane. */
  survey(source, receiver) {
    const { pen } = this;
    const { meta } = this.player;
    const inside = (p) => [this.h, this.v].every((k) => {
      const a = meta.axes[k];
      return p[k] >= a.origin - a.spacing && p[k] <= lastOf(a) + a.spacing;
    });
    pen.strokeStyle = "rgba(0,0,0,.65)";
    pen.lineWidth = 0.75;
    pen.fillStyle = receiver;
    const seen = meta.receivers.filter(inside);
    // many on a map are dots, or nothing else would be seen
    const dots = this.up && seen.length > 60;
    for (const p of seen) {
      const [x, y] = [this.across(p[this.h]), this.down(p[this.v])];
      if (dots) {
        pen.fillRect(x - 1, y - 1, 2, 2);
        continue;
      }
      pen.beginPath();
      pen.moveTo(x - 3, y - 2.5);
      pen.lineTo(x + 3, y - 2.5);
      pen.lineTo(x, y + 3);
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
    pen.fillStyle = source;
    for (const p of meta.sources.filter(inside)) {
      const [x, y] = [this.across(p[this.h]), this.down(p[this.v])];
      pen.beginPath();
      for (let k = 0; k < 10; k++) {
        const r = k % 2 ? 3 : 7;
        pen.lineTo(x + r * Math.sin(k * Math.PI / 5), y - r * Math.cos(k * Math.PI / 5));
      }
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  }

  ticks(ink, line) {
    const { pen } = this;
    const { axes } = this.player.meta;
    const [across, down] = [this.player.units[this.h], this.player.units[this.v]];
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = ink;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, this.wide + 1, this.tall + 1);
    const bottom = MARGIN.top + this.tall;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const a = axes[this.h];
    for (const m of places(a, Math.max(1, Math.floor(this.wide / 62)))) {
      const x = Math.round(this.across(m)) + 0.5;
      stroke(pen, x, bottom, x, bottom + 4);
      pen.fillText(across.text(m), x, bottom + 5);
    }
    pen.fillText(across.title, MARGIN.left + this.wide / 2, bottom + 17);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const b = axes[this.v];
    for (const m of places(b, Math.max(1, Math.floor(this.tall / 34)))) {
      const y = Math.round(this.down(m)) + 0.5;
      stroke(pen, MARGIN.left - 4, y, MARGIN.left, y);
      pen.fillText(down.text(m), MARGIN.left - 6, y);
    }
    pen.save();
    pen.translate(8, MARGIN.top + this.tall / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    if (this.tall > 60) pen.fillText(down.title, 0, 0);
    pen.restore();
  }
}

function stroke(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

/** At most about `most` round places along an axis. */
function places(axis, most) {
  const rough = (lastOf(axis) - axis.origin) / most || 1;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 5, 10].find((k) => k * ten >= rough);
  const out = [];
  for (let i = Math.ceil(axis.origin / step - 1e-9); i * step <= lastOf(axis) + 1e-9 * step; i++) out.push(i * step);
  return out;
}

/** How each axis is written: in m, in km where one of those in m reaches 5 km, or in its own unit. */
function unitsOf(axes) {
  const metres = axes.filter((a) => a.unit === "m");
  const km = metres.some((a) => Math.max(Math.abs(a.origin), Math.abs(lastOf(a))) >= 5000);
  return axes.map((a) => {
    const unit = a.unit === "m" && km ? "km" : a.unit;
    return { title: unit ? `${a.label} (${unit})` : a.label, text: (v) => unit === "km" ? shortest(v / 1000, 3) : shortest(v, 3) };
  });
}

/** A place along an axis, with its unit. */
function placed(axis, value) {
  return `${shortest(value, axis.unit === "s" ? 4 : 1)} ${axis.unit}`.trim();
}

/** A value to three figures. */
function figures(value) {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** A new element with attributes and text. */
function make(tag, attributes = {}, text = "") {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}
