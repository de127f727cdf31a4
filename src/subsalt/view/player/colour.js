// Colours: a table from (velocity, level of the field) to a pixel, made anew for every frame.

const GROUND = 168;      // grey under a field where velocity is not shown
const VELOCITIES = 64;   // velocities that colours tell apart

/** Colours of [negative, positive] amplitudes. */
const PALETTES = {
  grey: { label: "white, black", ends: [[255, 255, 255], [0, 0, 0]] },
  residual: { label: "blue, red", ends: [[20, 60, 200], [200, 20, 20]] },
  neon: { label: "cyan, orange", ends: [[0, 240, 255], [255, 120, 0]] },
};

/** |value| over the scale of its frame, by |level|. */
const LAW = Float64Array.from({ length: 128 }, (_, q) => (q / 127) * (q / 127));

/** Red, green, blue of VELOCITIES velocities, from the page's hexadecimal text. */
function velocityColours(hex) {
  return Array.from({ length: VELOCITIES }, (_, i) => [0, 2, 4].map((j) => parseInt(hex.substr(6 * i + j, 2), 16)));
}

/**
 * Fill `table` (256 levels for each velocity) with pixels.
 *
 * strength is the |value| over the clip at the largest level: a level q shows min(1, LAW[|q|] * strength) of its end of
 * the palette, and the rest of what is under it. Byte order of pixels: red first in memory, on little-endian machines.
 */
function fillTable(table, strength, palette, velocities, under) {
  const ends = PALETTES[palette].ends;
  for (let v = 0; v < VELOCITIES; v++) {
    const base = velocities[v].map((c) => GROUND + (c - GROUND) * under);
    for (let byte = 0; byte < 256; byte++) {
      const q = byte < 128 ? byte : byte - 256;
      const part = Math.min(1, LAW[Math.min(127, Math.abs(q))] * strength);
      const end = ends[q < 0 ? 0 : 1];
      const r = Math.floor(base[0] + (end[0] - base[0]) * part + 0.5);
      const g = Math.floor(base[1] + (end[1] - base[1]) * part + 0.5);
      const b = Math.floor(base[2] + (end[2] - base[2]) * part + 0.5);
      table[v << 8 | byte] = 0xff000000 | b << 16 | g << 8 | r;
    }
  }
}

/**
 * Put the pixels of one plane: `velocity` is 0..255, its upper six bits choose the colour.
 * With `turned`, the length of a row, the rows are put from the last to the first.
 */
function paint(pixels, levels, velocity, table, turned) {
  if (!turned) {
    for (let i = 0; i < pixels.length; i++) pixels[i] = table[(velocity[i] & 252) << 6 | levels[i]];
    return;
  }
  for (let row = 0, i = 0; i < pixels.length; row++) {
    let from = pixels.length - (row + 1) * turned;
    for (let k = 0; k < turned; k++, i++, from++) pixels[i] = table[(velocity[from] & 252) << 6 | levels[from]];
  }
}
