/* Counts of workloads against versions: the choice of a map, changes between versions. */

import {change, count, oneOf, unique} from './lib.js';

/* A count changes if it differs by more than this: it repeats to 0.1 %. */
const REAL = 0.002;

/* The rows of *map* that have *metric*, family by family in the catalog's order. */
export const rowsOf = (map, metric, families) => families.flatMap(
    (family) => map.rows.filter((row) => row.family === family && row.values[metric]));

const cells = (map) => map.rows.length * map.versions.length;

/* The map of the usual machine and build: the one with the most cells. */
export const usualMap = (maps) => maps.reduce(
    (best, one) => (best && cells(best) >= cells(one) ? best : one), null);

export const metricsOf = (map, index) => ['instructions', 'instructions_cold',
    ...Object.keys(index.metrics)].filter((name, i, names) => names.indexOf(name) === i
        && map.rows.some((row) => row.values[name]));

/* The cache state in which *metric* is counted. */
export const buffersOf = (metric) => (metric.endsWith('_cold') ? 'cold' : 'warm');

/* The places among *versions* of the baseline of each version: the one before it or the first,
   with a count that may be compared. */
export function baseline(row, metric, place, versions, against) {
    const values = row.values[metric];
    const before = versions.filter((one) => one < place
        && values[one] !== null && row.toolchain[one] === row.toolchain[place]);
    return against === 'first' ? before[0] : before[before.length - 1];
}

/* The ratio of two counts; null if one is missing. Nothing that stays nothing has not changed. */
export function ratio(row, metric, from, to) {
    const [before, after] = [row.values[metric][from], row.values[metric][to]];
    if (from === undefined || before === null || after === null) {
        return null;
    }
    return before === after ? 1 : before > 0 ? after / before : null;
}

export const isReal = (one) => one !== null && Math.abs(one - 1) > REAL;

/* How strong a change is, from 0 to 5: from 0.2 %, 1 %, 3 %, 10 % and 30 % on. */
export const strength = (one) => [REAL, 0.01, 0.03, 0.1, 0.3].filter(
    (least) => Math.abs(Math.log(one)) > least).length;

/* The changes of *rows*, [row, ratio], in parts: more, fewer, same; the largest first. */
export function parts(pairs) {
    const known = pairs.filter(([, one]) => one !== null);
    const more = known.filter(([, one]) => isReal(one) && one > 1).sort((a, b) => b[1] - a[1]);
    const fewer = known.filter(([, one]) => isReal(one) && one < 1).sort((a, b) => a[1] - b[1]);
    return {known, more, fewer};
}

/* Those parts in words, as a list of texts and of what *link* makes of a row: "3 of 16 need more (up
   to +8.1 %: window-rank), 2 fewer". */
export function inWords({known, more, fewer}, link = called) {
    if (known.length === 1) {
        return [link(known[0][0]), isReal(known[0][1]) ? ` ${change(known[0][1])}` : ' did not change'];
    }
    const told = [[more, 'more'], [fewer, 'fewer']].filter(([some]) => some.length).map(
        ([some, word]) => [`${some.length} `, ` ${word} (up to ${change(some[0][1])}: `, link(some[0][0]), ')']);
    if (!told.length) {
        return [`none of ${known.length} changed`];
    }
    const [first, second] = told;
    const rest = known.length - more.length - fewer.length;
    return [`${first[0]}of ${known.length} need${first[0] === '1 ' ? 's' : ''}`, ...first.slice(1),
        ...(second ? [', ', second[0].trim(), ...second.slice(1)] : []),
        rest ? `, ${rest} did not change` : ''];
}

/* A row's name: the workload, or a mode of pgbench with what tells it from its other cells. */
export const called = (row) => row.mode;
export const detail = (row) => [row.params.protocol, row.params.scale, row.params.profile]
    .filter((one) => one !== 'default').join(' · ');

export function keyOf({mode, params: {protocol, scale, clients, profile}}) {
    return [mode, protocol, scale, clients, profile].join('/');
}

/* Instructions of each function by name; parts and copies that compilers make are one function. */
async function profile(address) {
    const answer = await fetch(address);
    if (!answer.ok) {
        throw new Error(`${answer.status} ${address}`);
    }
    const data = new Uint8Array(await answer.arrayBuffer());
    /* Some web servers have the browser unpack it. */
    const packed = data[0] === 0x1f && data[1] === 0x8b;
    const text = packed ? await new Response(new Blob([data]).stream().pipeThrough(
        new DecompressionStream('gzip'))).text() : new TextDecoder().decode(data);
    const own = new Map();
    for (const [name, cost] of Object.entries(JSON.parse(text).own)) {
        const whole = name.replace(/'\d+$/, '').replace(/(\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)?)+$/, '');
        own.set(whole, (own.get(whole) ?? 0) + cost);
    }
    return own;
}

/* The functions whose own instructions differ most: [{name, before, after}]. Without *from*, those
   with the most. */
export async function functions(from, to, most) {
    const [before, after] = await Promise.all([from ? profile(from) : new Map(), profile(to)]);
    return unique([...before.keys(), ...after.keys()]).map((name) => (
        {name, before: before.get(name) ?? 0, after: after.get(name) ?? 0})).sort(
        (a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before)).slice(0, most);
}

export const chosenMap = (maps, machine, variant) => maps.find((one) => one.machine === machine
    && one.variant === oneOf(variant, maps.filter((two) => two.machine === machine)
        .map((two) => two.variant)));
