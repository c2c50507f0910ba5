/* The overview: what changed, in plain sentences. */

import {
    asvAddress, change, commitAddress, count, dataAddress, h, load, nothing, put, run, site, statusLine, unique,
} from './lib.js';
import {called, inWords, keyOf, parts, ratio, rowsOf, usualMap} from './heat.js';
import {loadPanel, usualBuild} from './choice.js';
import {ratioOf, verdict} from './statistics.js';

/* asv's pages were at this address: their links have what they show after #. */
if (location.hash && location.hash !== '#main') {
    location.replace(`trends.html${location.hash}`);
}

const LATEST = 5;

run(async function draw(index, place) {
    const [facts, changed, {machines, failures}] = await Promise.all(
        ['workloads.json', 'changes.json', 'status.json'].map(load));
    if (!index.panels.length) {
        nothing(place, 'Nothing is measured yet.');
        return;
    }
    const more = [...document.querySelectorAll('#pages a:not([aria-current])')].map(
        (one) => h('li', {}, h('a', {href: one.href}, one.textContent)));
    const compared = [...counted(facts), ...await timed(index)];
    put(place,
        h('h2', {}, 'The newest release against the one before'),
        ...(compared.length ? compared : [h('p', {}, 'Only one release is measured yet.')]),
        h('h2', {}, 'Latest confirmed changes'),
        latest(changed.rows),
        h('h2', {}, 'Status'),
        h('p', {}, `${statusLine(machines, failures)} `,
            h('a', {href: new URL('landspeed/status.html', site).href}, 'More')),
        h('h2', {}, 'Pages'),
        h('ul', {class: 'links'}, more, index.samples.map((one) => h('li', {},
            h('a', {href: dataAddress(one), download: ''}, `All samples of ${one.match(/\d+/)[0]} (Parquet)`)))));
});

/* The newest of *versions* (categories), and the newest of the major version before it. */
function newestTwo(versions) {
    const releases = versions.filter((one) => one.kind === 'release');
    const last = releases[releases.length - 1];
    const before = releases.filter((one) => one.major !== last?.major);
    return [before[before.length - 1] ?? releases[releases.length - 2], last];
}

/* A list of a sentence for each family of counted workloads. */
function counted(facts) {
    const usual = usualMap(facts.maps);
    if (!usual) {
        return [];
    }
    const [from, to] = newestTwo(facts.versions.filter((one) => usual.versions.includes(one.name)));
    if (!from) {
        return [];
    }
    const places = [from, to].map((one) => usual.versions.indexOf(one.name));
    const address = (row, metric) => {
        const target = new URL('landspeed/workloads.html', site);
        target.search = new URLSearchParams({machine: usual.machine, metric, cell: `${keyOf(row)}@${to.name}`});
        return target.href;
    };
    const lines = [];
    for (const metric of ['instructions', 'instructions_cold']) {
        for (const family of facts.families) {
            const rows = rowsOf(usual, metric, [family]);
            const some = parts(rows.map((row) => [row, row.toolchain[places[0]] === row.toolchain[places[1]]
                ? ratio(row, metric, ...places) : null]));
            if (some.known.length) {
                const size = Math.max(...some.known.map(([, one]) => Math.abs(Math.log(one))));
                const link = (row) => h('a', {href: address(row, metric)}, called(row));
                lines.push({size, line: h('li', {}, h('strong', {}, family),
                    metric.endsWith('_cold') ? ', cold cache: ' : ': ', inWords(some, link), '.')});
            }
        }
    }
    lines.sort((a, b) => b.size - a.size);
    return lines.length ? [h('p', {}, `Instructions per execution, ${to.name} against ${from.name}, on `
        + `${usual.machine}; the family with the largest change first:`),
    h('ul', {}, lines.map((one) => one.line))] : [];
}

/* A list of a sentence for each mode that was timed, at its largest number of clients. */
async function timed(index) {
    const headings = index.panels.filter((one) => !one.buffers && one.profile === 'default');
    const modes = unique(headings.map((one) => one.mode));
    const lines = await Promise.all(modes.map(async (mode) => {
        const heading = headings.filter((one) => one.mode === mode).sort((a, b) => b.runs - a.runs)[0];
        const panel = await loadPanel(heading);
        const [from, to] = newestTwo(panel.categories);
        const [variant, clients] = [usualBuild(panel.variants), panel.clients[panel.clients.length - 1]];
        const at = (version) => panel.points.find((one) => one.version === version?.name
            && one.variant === variant && one.clients === clients);
        const [a, b] = [at(from), at(to)];
        const found = a && b && a.environment === b.environment
            ? ratioOf(a.latency, b.latency, index.t_975) : null;
        if (!found || found.low === undefined) {
            return null;
        }
        const isSame = verdict(found, index.metrics.latency) === 'none';
        return h('li', {}, h('strong', {}, mode), `, timed on ${panel.machine} with ${count(clients, 'client')}: `,
            h('a', {href: asvAddress(panel.asv.benchmarks.latency, {machine: panel.machine,
                ...panel.asv.choices, 'p-clients': clients})}, isSame ? 'latency did not change measurably'
                : `latency ${change(found.ratio)}`),
            ` (95 % interval ${change(found.low)} … ${change(found.high)}), ${to.name} against ${from.name}.`);
    }));
    return lines.some(Boolean) ? [h('ul', {}, lines.filter(Boolean))] : [];
}

/* The newest confirmed changes, each in a sentence with the commit and the cause, if known. */
function latest(rows) {
    const sure = rows.filter((row) => ['bisected', 'confirmed'].includes(row.state));
    const time = (row) => row.confirmation?.time ?? row.time;
    const newest = [...sure].sort((a, b) => (time(a) < time(b) ? 1 : -1)).slice(0, LATEST);
    const all = h('a', {href: new URL('landspeed/regressions.html', site).href}, 'All changepoints');
    if (!newest.length) {
        const current = rows.filter((row) => row.current && row.state === 'nominated').length;
        return h('p', {}, `None is confirmed yet; ${current} are nominated. `, all);
    }
    return h('ul', {}, newest.map((row) => {
        /* A bisection can have refuted its culprit; the change itself stays confirmed. */
        const cause = row.state === 'bisected' ? row.bisection.culprit : null;
        const side = (one) => h('a', {href: commitAddress(one.commit || one.name)}, one.name);
        return h('li', {}, `${time(row).slice(0, 10)}: ${row.mode} needs `,
            h('strong', {class: row.worse ? 'worse' : 'better'}, change(row.ratio)),
            ` ${row.metric.replaceAll('_', ' ')} from `, side(row.before), ' to ', side(row.after),
            ` on ${row.machine}. `,
            ...(cause ? ['Cause: ', among(cause), h('a', {href: commitAddress(cause.ref)}, cause.name),
                ` ${cause.subject}${cause.author ? ` (${cause.author})` : ''}.`]
                : ['The cause is not found yet.']));
    }), h('li', {}, all));
}

/* What precedes the last of several commits or releases that cannot be told apart. */
const among = ({candidates, author}) => (candidates > 1
    ? `one of ${count(candidates, author ? 'commit' : 'release')} up to ` : '');
