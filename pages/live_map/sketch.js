// What is drawn on a map besides the plan: zones, candidate sites, existing facilities.

/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./plan_data.js').Theme} Theme */
/** @typedef {import('./plan_data.js').Point} Point @typedef {import('./camera.js').Camera} Camera */
import { around, writeNames } from './names.js';
import { pixelsOf, trace } from './camera.js';

/**
 * Zones: a tint and a rim where facilities must stand, hatched where they must not.
 * @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Place} place @param {Theme} theme
 * @param {{kind: string, rings: Point[][]}[]} zones  in degrees
 */
export function paintZones(pen, camera, place, theme, zones) {
  for (const zone of zones) {
    const only = zone.kind === 'only_in';
    trace(pen, zone.rings.map((ring) => ring.map((corner) => pixelsOf(camera, place, corner))));
    pen.save();
    pen.clip('evenodd');
    if (only) {
      pen.globalAlpha = 0.12;
      pen.fillStyle = theme.accent;
      pen.fillRect(0, 0, camera.width, camera.height);
    } else hatch(pen, camera, theme.muted);
    pen.restore();
    trace(pen, zone.rings.map((ring) => ring.map((corner) => pixelsOf(camera, place, corner))));
    pen.lineWidth = 1.8;
    pen.strokeStyle = only ? theme.accent : theme.muted;
    pen.setLineDash(only ? [] : [6, 4]);
    pen.stroke();
    pen.setLineDash([]);
  }
}

/**
 * What a planner draws: zones, the zone that is being drawn, sites that are no buttons, existing facilities.
 * @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Place} place @param {Theme} theme
 * @param {{zones: {kind: string, ring: Point[]}[], sites: {lonlat: Point, name: string}[], corners: Point[]}} drawing
 * @param {[number, number, number, number][]} busy  where no name is written
 */
export function paintDrawing(pen, camera, place, theme, { zones, sites, corners }, busy) {
  pen.lineCap = pen.lineJoin = 'round';
  paintZones(pen, camera, place, theme, zones.map(({ kind, ring }) => ({ kind, rings: [ring] })));
  paintCandidates(pen, camera, place, theme, sites);
  paintExisting(pen, camera, place, theme, sites, busy);
  if (!corners.length) return;
  pen.strokeStyle = pen.fillStyle = theme.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const corner of corners) pen.lineTo(...pixelsOf(camera, place, corner));
  pen.stroke();
  for (const corner of corners) {
    pen.beginPath();
    pen.arc(...pixelsOf(camera, place, corner), place.marks.candidate, 0, 2 * Math.PI);
    pen.fill();
  }
}

/**
 * Existing facilities as squares, and the names of facilities and sites.
 * @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Place} place @param {Theme} theme
 * @param {{lonlat: Point, name: string}[]} sites @param {[number, number, number, number][]} busy
 */
function paintExisting(pen, camera, place, theme, sites, busy) {
  const { site } = place.marks;
  const spots = place.existing.map(({ lonlat }) => pixelsOf(camera, place, lonlat));
  const taken = spots.map(([x, y], n) => {
    pen.fillStyle = theme.page;
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.rect(x - site, y - site, 2 * site, 2 * site);
    pen.fill();
    pen.stroke();
    pen.fillStyle = theme.ink;
    pen.font = `700 ${place.marks.number}px "Public Sans", system-ui, sans-serif`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillText(String(place.existing[n].number), x, y + 0.5);
    return around([x, y], site);
  });
  taken.push(...busy);
  for (const { lonlat } of sites) taken.push(around(pixelsOf(camera, place, lonlat), place.marks.candidate + 3));
  const names = [...place.existing, ...sites].flatMap(({ lonlat, name }) =>
    name ? [{ text: name, at: pixelsOf(camera, place, lonlat), beside: true }] : [],
  );
  writeNames(pen, camera, names, { ink: theme.ink, halo: theme.ground, taken });
}

/** Sites where a facility may stand. @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Place} place @param {Theme} theme @param {{lonlat: Point}[]} sites */
export function paintCandidates(pen, camera, place, theme, sites) {
  pen.lineWidth = 1.5;
  pen.strokeStyle = theme.ink;
  pen.fillStyle = theme.page;
  for (const { lonlat } of sites) {
    pen.beginPath();
    pen.arc(...pixelsOf(camera, place, lonlat), place.marks.candidate, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

/** Slanting lines over everything within the clip. @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {string} color */
function hatch(pen, camera, color) {
  pen.strokeStyle = color;
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = -camera.height; x < camera.width; x += 8) {
    pen.moveTo(x, camera.height);
    pen.lineTo(x + camera.height, 0);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}
