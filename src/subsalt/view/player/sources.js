// Where frames come from: this page (everything, unpacked once), or the server that made it (planes on demand).
// Both answer plane(field, frame, axis, index): rows along z (or y), contiguous along the first other axis; null if not here yet.

/** Frames that stand in this page. In a block a frame lies as (nz, [ny,] nx). */
class PageFrames {
  constructor(meta, onMore) {
    this.meta = meta;
    this.onMore = onMore;
    this.shape = meta.axes.map((a) => a.n);
    this.size = this.shape.reduce((a, b) => a * b, 1);
    this.frames = Object.fromEntries(meta.fields.map((f) => [f.name, new Array(meta.times.length).fill(null)]));
    this.velocity = null;
    this.done = 0;
  }

  async tables() {
    return block(this.meta.tables);
  }

  async load() {
    const columns = this.shape[0];
    this.velocity = summed(await block(this.meta.velocity.block), columns);
    const blocks = this.meta.fields.flatMap((f) => f.blocks.map((b) => ({ ...b, name: f.name })));
    // in order of time, so that the beginning can be played while the rest is unpacked
    blocks.sort((a, b) => a.first - b.first);
    for (const b of blocks) {
      const bytes = await block(b.id);
      if (bytes.length !== b.count * this.size) throw new Error(`block ${b.id} has ${bytes.length} bytes`);
      for (let i = 0; i < b.count; i++) {
        this.frames[b.name][b.first + i] = summed(bytes.subarray(i * this.size, (i + 1) * this.size), columns);
      }
      this.done += b.count / (this.meta.times.length * this.meta.fields.length);
      this.onMore();
    }
  }

  plane(field, frame, axis, index) {
    const whole = field === "velocity" ? this.velocity : this.frames[field][frame];
    if (!whole || this.shape.length === 2) return whole;
    const [nx, ny, nz] = this.shape;
    if (axis === 2) return whole.subarray(index * nx * ny, (index + 1) * nx * ny);
    const out = new Uint8Array((axis === 1 ? nx : ny) * nz);
    if (axis === 1) {
      for (let z = 0; z < nz; z++) {
        const from = (z * ny + index) * nx;
        out.set(whole.subarray(from, from + nx), z * nx);
      }
    } else {
      for (let z = 0, o = 0; z < nz; z++) {
        for (let y = 0, p = z * ny * nx + index; y < ny; y++, p += nx) out[o++] = whole[p];
      }
    }
    return out;
  }

  expect() { /* everything comes by itself */ }
}

/** Planes asked of the server as they are shown, the coming ones ahead of time; the latest 192 MB are kept. */
class ServedFrames {
  constructor(meta, token, onMore) {
    this.meta = meta;
    this.token = token;
    this.onMore = onMore;
    this.kept = new Map();
    this.bytes = 0;
    this.asked = new Set();
    this.waiting = [];
    this.done = 1;
    this.busy = 0;
    this.failed = null;
  }

  async get(path) {
    const answer = await fetch(path, { headers: { "X-Subsalt-Token": this.token }, cache: "no-store" });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
    return answer;
  }

  async tables() {
    return new Uint8Array(await (await this.get("tables")).arrayBuffer());
  }

  async load() { /* nothing before it is shown */ }

  plane(field, frame, axis, index) {
    const path = `plane/${field}/${frame}/${axis}/${index}`;
    const plane = this.kept.get(path);
    if (plane) {
      this.kept.delete(path);
      this.kept.set(path, plane);
      return plane;
    }
    this.ask(path, true);
    return null;
  }

  expect(paths) {
    // what was expected before and is not on its way was for another moment or plane
    for (const path of this.waiting.splice(0)) this.asked.delete(path);
    for (const [field, frame, axis, index] of paths) this.ask(`plane/${field}/${frame}/${axis}/${index}`, false);
  }

  ask(path, now) {
    if (this.kept.has(path) || this.asked.has(path)) return;
    this.asked.add(path);
    if (now) this.waiting.unshift(path);
    else this.waiting.push(path);
    this.next();
  }

  async next() {
    if (this.busy >= 4 || !this.waiting.length) return;
    const path = this.waiting.shift();
    this.busy++;
    try {
      const bytes = new Uint8Array(await (await this.get(path)).arrayBuffer());
      this.kept.set(path, bytes);
      this.bytes += bytes.length;
      for (const [old, data] of this.kept) {
        if (this.bytes <= 192e6 || old === path) break;
        this.kept.delete(old);
        this.bytes -= data.length;
      }
      this.failed = null;
    } catch (error) {
      this.failed = error;
    }
    this.asked.delete(path);
    this.busy--;
    // a server that has gone is asked again once a second, not as fast as it refuses
    if (this.failed) await new Promise((resume) => setTimeout(resume, 1000));
    this.onMore();
    this.next();
  }
}
