/* The choice of a panel: machine, mode, protocol, scale, configuration, cache state. */

import {asked, check, chooses, load, oneOf, options, select, spellMetric, unique} from './lib.js';

const AXES = [
    ['machine', 'Machine', String],
    ['buffers', 'Timed or counted', (value) => ({'': 'timed', warm: 'counted, warm cache',
        cold: 'counted, cold cache'}[value] ?? value)],
    ['mode', 'Mode', String],
    ['scale', 'Scale', String],
    ['protocol', 'Protocol', String],
    ['profile', 'Configuration', String],
];

/* The values that each axis can have, given the choices before it. */
export function narrow(panels, fixed = [], wanted = asked) {
    let left = panels;
    const chosen = {};
    const fields = [];
    for (const [name, label, text] of AXES.filter(([axis]) => !fixed.includes(axis))) {
        const values = unique(left.map((panel) => panel[name])).sort(inOrder(name));
        chosen[name] = oneOf(wanted(name), values);
        left = left.filter((panel) => panel[name] === chosen[name]);
        fields.push({name, label, text, values});
    }
    return {chosen, fields, panels: left};
}

const FIRST = {
    scale: ['small', 'medium', 'large'],
    mode: ['read-only', 'read-write', 'tpcb-like'],
    protocol: ['prepared', 'extended', 'simple'],
    profile: ['default'],
    buffers: ['', 'warm', 'cold'],
};

function inOrder(name) {
    const first = FIRST[name] || [];
    const rank = (value) => {
        const at = first.findIndex((one) => value === one || (one && value.startsWith(`${one}-`)));
        return at < 0 ? first.length : at;
    };
    return (a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en', {numeric: true});
}

/* The controls of *fields*. */
export function controls(fields, chosen, again) {
    return fields.map((field) => select(field.label, options(field.values, field.text),
        chosen[field.name], chooses(field.name, again)));
}

export const metricControl = (index, names, chosen, again) => select('Metric',
    options(names, (name) => spellMetric(index, name)), chosen, chooses('metric', again));

export const clientsControl = (panel, chosen, again) => select('Clients',
    options(panel.clients.map(String)), String(chosen), chooses('clients', again));

export const zeroControl = (label, zero, again) =>
    check(label, zero, chooses('zero', again, (value) => (value ? '' : 'no')));

/* What a plot shows, in one line. */
export function words(panel) {
    const how = panel.buffers ? `counted, ${panel.buffers} cache` : null;
    return [panel.machine, panel.mode, panel.scale, panel.protocol, panel.profile, how]
        .filter(Boolean).join(' · ');
}

/* The epoch of a point: kernel, processor, microcode and C library. Points of different epochs are
   not compared. */
export const epochOf = (panel, point) => panel.environments[point.environment].epoch;

export const loadPanel = (heading) => load(heading.file);

/* The newest release of each major version, external servers, and the tip of each branch. */
export function foremost(categories) {
    const newest = new Map();
    for (const one of categories) {
        if (one.kind === 'release') {
            newest.set(one.major, one.name);
        }
    }
    const names = new Set(newest.values());
    return categories.filter((one) => names.has(one.name) || one.kind === 'registered' || one.tip);
}

/* The label of a version on an axis. */
export const called = (one) => (one.kind === 'commit' && one.tip ? one.line : one.name);

/* The build that is shown by default. */
export const usualBuild = (variants) => (variants.includes('bs8') ? 'bs8' : variants[0]);

/* Up to this number of versions, all are shown by default. */
export const FEW = 14;
