// From the text of this page to bytes: seven bits a character, then gzip.

/** Bytes of a text that holds 7 bits in each character; `x & 127` undoes the three characters that HTML changes. */
function bytesOf(text) {
  const out = new Uint8Array(Math.floor(text.length * 7 / 8));
  const whole = text.length - text.length % 8;
  let o = 0;
  for (let i = 0; i < whole; i += 8) {
    const a = text.charCodeAt(i) & 127, b = text.charCodeAt(i + 1) & 127, c = text.charCodeAt(i + 2) & 127;
    const d = text.charCodeAt(i + 3) & 127, e = text.charCodeAt(i + 4) & 127, f = text.charCodeAt(i + 5) & 127;
    const g = text.charCodeAt(i + 6) & 127, h = text.charCodeAt(i + 7) & 127;
    out[o++] = a << 1 | b >> 6;
    out[o++] = b << 2 | c >> 5;
    out[o++] = c << 3 | d >> 4;
    out[o++] = d << 4 | e >> 3;
    out[o++] = e << 5 | f >> 2;
    out[o++] = f << 6 | g >> 1;
    out[o++] = g << 7 | h;
  }
  let bits = 0, held = 0;
  for (let i = whole; i < text.length; i++) {
    bits = bits << 7 | (text.charCodeAt(i) & 127);
    held += 7;
    if (held >= 8 && o < out.length) {
      held -= 8;
      out[o++] = bits >> held;
    }
  }
  return out;
}

/** Unpack gzip; a damaged page fails here, by the checksum of the format. */
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Levels from what is left of them once those beside, above, and between are taken for a plane; in place. */
function summed(bytes, columns) {
  let left = 0;
  for (let i = 0; i < columns; i++) bytes[i] = left = left + bytes[i] & 255;
  for (let row = columns; row < bytes.length; row += columns) {
    left = 0;
    for (let i = row; i < row + columns; i++) {
      left += bytes[i];
      bytes[i] = left + bytes[i - columns];
    }
  }
  return bytes;
}

/** The data block of this page with that id; its text is let go of once read. */
async function block(id) {
  const element = document.getElementById(id);
  const bytes = await unpacked(bytesOf(element.textContent));
  element.remove();
  return bytes;
}
