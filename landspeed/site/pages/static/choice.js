/* Which panel a page draws: machine, mode, protocol, scale, profile, buffers; kept in the address. */

import {asked, check, chooses, load, oneOf, options, select, spellMetric, unique} from './lib.js';

const AXES = [
    ['machine', 'Machine', String],
    ['buffers', 'Counted or timed', (value) => ({'': 'timed', warm: 'counted, warm buffers',
        cold: 'counted, cold buffers'}[value] ?? value)],
    ['mode', 'Mode', String],
    ['scale', 'Scale', String],
    ['protocol', 'Protocol', String],
    ['profile', 'Profile', String],
];

/* For each axis what can be chosen, given what is chosen before it. */
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

/* The controls of *fields*; what is chosen goes into the address and the page is drawn again. */
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

/* In a line, what a plot is of. */
export function words(panel) {
    const how = panel.buffers ? `counted, ${panel.buffers} buffers` : null;
    return [panel.machine, panel.mode, panel.scale, panel.protocol, panel.profile, how]
        .filter(Boolean).join(' · ');
}

/* The kernel, processor, microcode and C library that a point was measured with: points of two
   epochs are not compared. */
export const epochOf = (panel, point) => panel.environments[point.environment].epoch;

export const loadPanel = (heading) => load(heading.file);

/* The newest release of each major, what was built elsewhere, and the tip of each branch. */
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

/* How a version is called on an axis. */
export const called = (one) => (one.kind === 'commit' && one.tip ? one.line : one.name);

/* The build that pages begin with. */
export const usualBuild = (variants) => (variants.includes('bs8') ? 'bs8' : variants[0]);

/* With which choice of versions a page begins: all, where they are few. */
export const FEW = 14;
