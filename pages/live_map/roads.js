// The plain ground: a grid, or the streets, water and parks of the data. Nothing of it is fetched from the web.

import { bytesOf } from './plan_data.js';

/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./plan_data.js').Theme} Theme */
/** @typedef {import('./plan_data.js').Point} Point */
/** @typedef {{credit: string, features: object[]}} Roads */

/** Width in pixels at zoom 9 and 17, and the zoom from which it is drawn: motorways, main roads, streets, paths. */
const RANKS = [
  [1.2, 9, 0],
  [0.8, 7, 9],
  [0.5, 5, 11],
  [0.4, 2, 14],
];

/** @param {string} url @returns {Promise<Roads>} */
export async function roadsFrom(url) {
  return readRoads(await bytesOf(url));
}

/**
 * Lines and rings one after the other, as tkm_core/figures/live_place.py writes them.
 * @param {ArrayBuffer} bytes @returns {Roads}
 */
export function readRoads(bytes) {
  const [size] = new Uint32Array(bytes, 0, 1);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size)));
  let at = 4 + size;
  const take = (/** @type {number} */ count) => {
    const found = new Uint32Array(bytes, at, count);
    at += 4 * count;
    return found;
  };
  const starts = take(head.parts + 1);
  const kinds = take(head.parts);
  const polygons = take(head.parts);
  const points = new Float32Array(bytes, at, 2 * head.points);
  /** @type {Point[][][]} */
  const lines = head.ranks.map(() => []);
  /** @type {Map<number, {kind: number, rings: Point[][]}>} */
  const areas = new Map();
  for (let n = 0; n < head.parts; n++) {
    /** @type {Point[]} */
    const line = [];
    for (let p = starts[n]; p < starts[n + 1]; p++) {
      line.push([points[2 * p] + head.origin[0], points[2 * p + 1] + head.origin[1]]);
    }
    if (kinds[n] < head.ranks.length) lines[kinds[n]].push(line);
    else {
      const area = areas.get(polygons[n]) ?? { kind: kinds[n] - head.ranks.length, rings: [] };
      areas.set(polygons[n], area);
      area.rings.push(line);
    }
  }
  const feature = (/** @type {object} */ properties, /** @type {object} */ geometry) => ({ type: 'Feature', properties, geometry });
  const features = lines.flatMap((coordinates, rank) =>
    coordinates.length ? [feature({ rank }, { type: 'MultiLineString', coordinates })] : [],
  );
  for (const { kind, rings } of areas.values()) {
    features.push(feature({ kind: head.areas[kind] }, { type: 'Polygon', coordinates: rings }));
  }
  return { credit: head.credit, features };
}

/** The style of the ground. @param {Place} place @param {Theme} theme @param {Roads | null} roads */
export function groundLayers(place, theme, roads) {
  const background = { id: 'ground', type: 'background', paint: { 'background-color': theme.ground } };
  if (!roads) {
    const data = { type: 'Feature', properties: {}, geometry: { type: 'MultiLineString', coordinates: place.grid } };
    const grid = { id: 'grid', type: 'line', source: 'grid', paint: { 'line-color': theme.grid, 'line-width': 1 } };
    return { version: 8, sources: { grid: { type: 'geojson', data } }, layers: [background, grid] };
  }
  const fill = (/** @type {string} */ kind) => ({
    id: kind,
    type: 'fill',
    source: 'roads',
    filter: ['==', ['get', 'kind'], kind],
    paint: { 'fill-color': theme.land[kind] },
  });
  const line = (/** @type {number[]} */ [far, near, from], /** @type {number} */ rank) => ({
    id: `roads-${rank}`,
    type: 'line',
    source: 'roads',
    minzoom: from,
    filter: ['==', ['get', 'rank'], rank],
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: { 'line-color': theme.land[rank < 2 ? 'road' : 'street'], 'line-width': ['interpolate', ['exponential', 1.5], ['zoom'], 9, far, 17, near] },
  });
  const data = { type: 'FeatureCollection', features: roads.features };
  return {
    version: 8,
    sources: { roads: { type: 'geojson', data, tolerance: 0.5, maxzoom: 15 } },
    layers: [background, fill('park'), fill('water'), ...RANKS.map(line).reverse()],
  };
}
