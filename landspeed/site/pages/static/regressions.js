/* Changepoints and the status of each. */

import {
    asked, asvAddress, change, check, chooses, commitAddress, compareAddress, count, form, h, load, nothing,
    options, put, run, select, unique,
} from './lib.js';

const SURE = ['bisected', 'confirmed', 'nominated', 'undecided'];

run(async function draw(index, place) {
    const {rows, meanings} = await load('changes.json');
    if (!rows.length) {
        nothing(place, 'No changepoints: the level of no trend has changed.');
        return;
    }
    const again = () => draw(index, place);
    const machines = unique(rows.map((row) => row.machine)).sort();
    const machine = machines.includes(asked('machine')) ? asked('machine') : '';
    const state = Object.keys(meanings).includes(asked('state')) ? asked('state') : '';
    const all = asked('all') === 'yes';
    const gains = asked('gains') === 'yes';
    const kept = rows.filter((row) => (!machine || row.machine === machine)
        && (state ? row.state === state : all || (SURE.includes(row.state) && row.current))
        && (gains || row.worse));
    put(place,
        form(
            select('Machine', [{value: '', text: 'all'}, ...options(machines)], machine,
                chooses('machine', again)),
            select('Status', [{value: '', text: 'all current'}, ...Object.keys(meanings).map(
                (one) => ({value: one, text: `${one} (${inState(rows, one)})`}))], state,
                chooses('state', again)),
            check('include improvements', gains, chooses('gains', again, spelled)),
            check('include refuted, doubtful and past ones', all, chooses('all', again, spelled))),
        kept.length ? list(kept) : h('p', {class: 'note'}, 'No changepoint matches the choices above.'),
        h('h2', {}, 'Statuses'),
        h('div', {class: 'scroll'}, h('table', {class: 'cards'}, h('tbody', {}, Object.entries(meanings).map(
            ([name, words]) => h('tr', {}, h('th', {scope: 'row'}, badge(name)),
                h('td', {class: 'number'}, String(inState(rows, name))), h('td', {}, words)))))));
});

const spelled = (value) => (value ? 'yes' : '');

const inState = (rows, state) => rows.filter((row) => row.state === state).length;

const badge = (state) => h('span', {class: `state ${state}`}, state);

/* The title and the content of each cell of a row. */
const COLUMNS = [
    ['Status', (row) => [badge(row.state), row.current ? null
        : h('div', {class: 'small quiet'}, 'no longer in the trend')]],
    ['Change', (row) => [
        h('span', {class: `strong whole ${row.worse ? 'worse' : 'better'}`}, change(row.ratio)),
        h('div', {class: 'small whole'}, row.metric.replaceAll('_', ' ')), range(row.interval)]],
    ['Between', (row) => [...side(row.before), ' → ', ...side(row.after),
        h('div', {class: 'small quiet'}, row.line ? `on ${row.line}` : null)]],
    ['Cell', cell],
    ['Fresh runs', fresh],
    ['Bisection', found],
];

function list(rows) {
    const caption = 'Changepoints, the most certain first, then by size';
    return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
        h('table', {class: 'cards report'}, h('caption', {}, caption),
            h('thead', {}, h('tr', {}, COLUMNS.map(([title]) => h('th', {scope: 'col'}, title)))),
            h('tbody', {}, rows.map((row) => h('tr', {'data-state': row.state}, COLUMNS.map(
                ([title, shown], i) => h('td', {'data-title': i ? title : null}, shown(row))))))));
}

const range = (interval) => (interval
    ? h('div', {class: 'small quiet whole'}, `${change(interval[0])} … ${change(interval[1])}`) : null);

function side(one) {
    return [h('a', {href: commitAddress(one.commit || one.name), class: 'whole'}, one.name),
        one.subject ? h('div', {class: 'small quiet'}, `${one.subject} (${one.author})`) : null];
}

function cell(row) {
    const {params, variant, asv, machine} = row;
    const words = [row.mode, params.scale, params.protocol, count(params.clients, 'client'),
        params.profile, variant].join(' · ');
    const compare = compareAddress({machine, metric: row.metric,
        a: `${row.before.name}:${variant}`, b: `${row.after.name}:${variant}`});
    return [h('div', {}, machine), h('div', {class: 'small'}, words),
        h('div', {class: 'small'}, h('a', {href: asvAddress(asv.benchmark,
            {machine, ...asv.choices, ...(row.line ? {branch: row.line} : {})})}, 'Trend in asv'),
        ' · ', h('a', {href: compare}, 'Compare'))];
}

function fresh(row) {
    const told = row.confirmation;
    if (!told) {
        return h('span', {class: 'quiet'}, 'none yet');
    }
    return [
        told.ratio === null || told.ratio === undefined ? null
            : h('span', {class: 'strong whole'}, change(told.ratio)),
        range(told.interval),
        h('div', {class: 'small quiet'}, [told.fate, told.blocks ? count(told.blocks, 'block') : '',
            told.reason, told.time.slice(0, 10)].filter(Boolean).join(', ')),
    ].filter(Boolean);
}

function found(row) {
    const report = row.bisection;
    if (!report) {
        return h('span', {class: 'quiet'}, '–');
    }
    const sure = report.confidence === null || report.confidence === undefined ? ''
        : `, confidence ${(100 * report.confidence).toFixed(1)} %`;
    const culprit = report.culprit;
    return [
        culprit ? h('a', {class: 'mono', href: commitAddress(culprit.ref)}, culprit.name)
            : h('span', {}, report.answer),
        culprit ? h('div', {class: 'small'}, culprit.subject) : null,
        culprit?.author ? h('div', {class: 'small quiet'}, culprit.author) : null,
        h('div', {class: 'small quiet'}, `${report.answer}${sure}; ${count(report.runs, 'run')}, `
            + count(report.builds, 'build')),
        h('details', {class: 'small'}, h('summary', {}, 'Command'), h('pre', {}, report.command)),
    ].filter(Boolean);
}
