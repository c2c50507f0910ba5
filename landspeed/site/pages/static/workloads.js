/* Workloads: a heat map of what changed from version to version; each cell leads to its sources. */

import {
    asked, asvAddress, change, check, chooses, commitAddress, compareAddress, count, dataAddress,
    form, h, load, nothing, number, oneOf, options, put, remember, run, select, showCommand, site,
    spellMetric, table, unique,
} from './lib.js';
import {FEW, called as versionName, foremost} from './choice.js';
import {
    baseline, buffersOf, called, chosenMap, detail, functions, inWords, keyOf, metricsOf, parts,
    ratio, rowsOf, strength, usualMap,
} from './heat.js';

const FUNCTIONS = 15;
/* With more versions than this, the changes have no room for their unit. */
const NARROW = 10;

run(async function draw(index, place) {
    const facts = await load('workloads.json');
    const usual = usualMap(facts.maps);
    if (!usual) {
        nothing(place, 'No workload is counted yet: landspeed run 17 18 --suite small --metric instructions');
        return;
    }
    const again = () => draw(index, place);
    const machines = unique(facts.maps.map((one) => one.machine));
    const machine = oneOf(asked('machine'), machines, usual.machine);
    const map = chosenMap(facts.maps, machine, asked('build') ?? usual.variant);
    const metric = oneOf(asked('metric'), metricsOf(map, index));
    const against = oneOf(asked('against'), ['before', 'first']);
    const own = facts.versions.filter((one) => map.versions.includes(one.name));
    const which = oneOf(asked('versions'), ['foremost', 'releases', 'all'],
        own.length > FEW ? 'foremost' : 'all');
    const shown = {foremost: foremost(own), releases: own.filter((one) => one.kind !== 'commit'),
        all: own}[which];
    const families = unique(map.rows.map((row) => row.family));
    const family = oneOf(asked('family'), ['', ...families]);
    const places = shown.map((one) => map.versions.indexOf(one.name));
    const view = {index, facts, map, metric, against, shown, places, again,
        flat: asked('flat') === 'yes', sort: asked('sort') ?? '',
        rows: rowsOf(map, metric, facts.families).filter((row) => !family || row.family === family)};
    put(place,
        form(
            select('Machine', options(machines), machine, chooses('machine', again)),
            select('Build', options(facts.maps.filter((one) => one.machine === machine)
                .map((one) => one.variant)), map.variant, chooses('build', again)),
            select('Metric', options(metricsOf(map, index), (name) => spellMetric(index, name)),
                metric, chooses('metric', again)),
            select('Change against', [{value: 'before', text: 'the version before'},
                {value: 'first', text: 'the first version'}], against, chooses('against', again)),
            select('Versions', [{value: 'foremost', text: 'newest of each major version'},
                {value: 'releases', text: 'all releases'},
                {value: 'all', text: 'all and newest commits'}], which, chooses('versions', again)),
            select('Family', [{value: '', text: 'all'}, ...options(families)], family,
                chooses('family', again)),
            select('Sort by', sorts(shown), view.sort, chooses('sort', again)),
            check('all families together', view.flat,
                chooses('flat', again, (value) => (value ? 'yes' : '')))),
        legend(), heat(view), h('dialog', {id: 'cell', 'aria-label': 'One cell',
            onclose: () => remember({cell: ''})}));
    /* At the first @: the name of a registered server begins with one. */
    const [key, version] = (asked('cell') ?? '').split(/@(.*)/);
    const row = view.rows.find((one) => keyOf(one) === key);
    if (row && map.versions.includes(version)) {
        await open(view, row, map.versions.indexOf(version));
    }
});

const sorts = (shown) => [{value: '', text: 'the catalog’s order'}, {value: 'name', text: 'name'},
    ...[...shown].reverse().flatMap((one) => [
        {value: `up ${one.name}`, text: `largest rise, ${versionName(one)}`},
        {value: `down ${one.name}`, text: `largest fall, ${versionName(one)}`}])];

const legend = () => h('p', {class: 'legend key heat-key', 'aria-hidden': 'true'},
    ['fall of 30 %', '10 %', '3 %', '1 %', '', 'rise of 1 %', '3 %', '10 %', '30 %'].map(
        (text, i) => h('span', {class: i === 4 ? 'same' : i < 4 ? `down s${5 - i}` : `up s${i - 3}`},
            text || 'less')));

/* The order of *rows* that *sort* asks for: a name, or the change of a version. */
function sorted(view, rows) {
    const [way, version] = view.sort.split(' ');
    if (way === 'name') {
        return [...rows].sort((a, b) => called(a).localeCompare(called(b), 'en', {numeric: true}));
    }
    const place = view.map.versions.indexOf(version);
    if (place < 0) {
        return rows;
    }
    const sign = way === 'down' ? 1 : -1;
    const size = (row) => changed(view, row, place) ?? 1;
    return [...rows].sort((a, b) => sign * (size(a) - size(b)));
}

const changed = ({metric, places, against}, row, place) => ratio(row, metric,
    baseline(row, metric, place, places, against), place);

function heat(view) {
    const {shown, places, rows, flat, sort} = view;
    const [way, by] = sort.split(' ');
    const head = h('tr', {}, h('th', {scope: 'col'}, 'Workload'), shown.map((one) => h('th',
        {scope: 'col', 'aria-sort': by === one.name ? (way === 'up' ? 'descending' : 'ascending') : null},
        h('button', {type: 'button', 'data-key': `sort ${one.name}`, title: 'Sort by this version',
            onclick: () => chooses('sort', view.again)(
                `${by === one.name && way === 'up' ? 'down' : 'up'} ${one.name}`)}, versionName(one)))));
    const groups = flat ? [['', rows]] : unique(rows.map((row) => row.family)).map(
        (family) => [family, rows.filter((row) => row.family === family)]);
    const last = places[places.length - 1];
    const bodies = groups.map(([family, some]) => h('tbody', {},
        family ? h('tr', {class: 'family'}, h('th', {scope: 'rowgroup', colspan: shown.length + 1},
            family, ' ', h('span', {class: 'quiet small'}, `${shown[shown.length - 1].name}: `,
                inWords(parts(some.map((row) => [row, changed(view, row, last)]))))))
            : null,
        sorted(view, some).map((row) => line(view, row))));
    const {unit} = view.index.metrics[view.metric];
    const element = h('table', {class: 'heat'}, h('caption', {}, `${count(rows.length, 'workload')}; changes of `
        + `${view.metric.replaceAll('_', ' ')} in %, the first value of a row in ${unit}. A cell leads to its trend, plan and profile.`),
    h('thead', {}, head), bodies);
    element.addEventListener('click', (event) => {
        const button = event.target.closest('td button');
        if (button) {
            const row = rows.find((one) => keyOf(one) === button.closest('tr').dataset.row);
            open(view, row, Number(button.dataset.place));
        }
    });
    return element;
}

function line(view, row) {
    const title = view.facts.catalog[row.mode]?.title ?? detail(row);
    const unit = view.places.length > NARROW ? ' %' : '';
    return h('tr', {'data-row': keyOf(row)},
        h('th', {scope: 'row'}, called(row), h('span', {class: 'quiet small'}, ` ${title}`)),
        view.places.map((place, i) => {
            const value = row.values[view.metric][place];
            if (value === null) {
                return h('td', {class: 'none'});
            }
            const one = changed(view, row, place);
            const level = one === null ? 0 : strength(one);
            const tone = level ? `${one > 1 ? 'up' : 'down'} s${level}` : 'same';
            return h('td', {class: tone, 'data-version': versionName(view.shown[i])},
                h('button', {type: 'button', 'data-place': place},
                    one === null ? short(value) : level ? change(one).replace(unit, '') : '0'));
        }));
}

const SHORT = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3});
const short = (value) => SHORT.format(value);

/* Show where the count of *row* at *place* comes from. */
async function open(view, row, place) {
    const {map, metric, places, against, facts, index} = view;
    const version = map.versions[place];
    const from = baseline(row, metric, place, places, against);
    const one = ratio(row, metric, from, place);
    const known = facts.catalog[row.mode];
    const dialog = document.getElementById('cell');
    const buffers = buffersOf(metric);
    const {protocol, scale, clients, profile} = row.params;
    const asv = asvAddress(`${row.group}.track_${metric}`,
        {machine: map.machine, ...row.asv, ...map.axes});
    const versions = new URL('landspeed/index.html', site);
    versions.search = new URLSearchParams({machine: map.machine, mode: row.mode, buffers, protocol,
        scale, profile, metric, clients});
    const values = row.values[metric];
    const functionsPlace = h('div', {}, h('p', {class: 'quiet'}, 'Loading …'));
    dialog.replaceChildren(
        h('form', {method: 'dialog'}, h('button', {'aria-label': 'Close'}, '×')),
        h('h2', {}, `${called(row)}, ${version}`),
        h('p', {}, known ? `${known.title}. Guards ${known.guards}.` : detail(row)),
        h('p', {class: 'strong'}, `${number(values[place])} ${index.metrics[metric].unit}`,
            from === undefined ? '' : ` against ${number(values[from])} in ${map.versions[from]}`,
            one === null ? '' : `: ${change(one)}`),
        h('ul', {class: 'links'},
            h('li', {}, h('a', {href: asv}, 'Trend in asv')),
            h('li', {}, h('a', {href: versions.href}, 'All versions')),
            from === undefined ? null : h('li', {}, h('a', {href: compareAddress({machine: map.machine,
                metric, a: `${map.versions[from]}:${map.variant}`, b: `${version}:${map.variant}`})}, 'Compare')),
            h('li', {}, h('a', {href: commitAddress(version)}, `About ${version}`)),
            h('li', {}, h('code', {}, showCommand({...row.params, mode: row.mode, buffers},
                {version, variant: map.variant, clients})))),
        ...plans(await load('plans.json'), row.runs[buffers], from, place, map),
        h('h3', {}, 'Functions'), functionsPlace);
    remember({cell: `${keyOf(row)}@${version}`});
    if (!dialog.open) {
        dialog.showModal();
    }
    functionsPlace.replaceChildren(await profileTable(row.runs[buffers], from, place, map));
}

/* The plan at *place*, and the one before it if that differs; nothing if none is recorded. */
function plans(known, runs, from, place, map) {
    const plan = (at) => known[runs?.[at]];
    if (!plan(place)) {
        return [];
    }
    const isOther = plan(from) && plan(from) !== plan(place);
    return [h('h3', {}, isOther ? 'Plan: it has changed' : 'Plan'),
        isOther ? h('p', {class: 'small quiet'}, map.versions[from]) : null,
        isOther ? h('pre', {}, plan(from)) : null,
        isOther ? h('p', {class: 'small quiet'}, map.versions[place]) : null,
        h('pre', {}, plan(place))].filter(Boolean);
}

async function profileTable(runs, from, place, map) {
    const file = (at) => (at !== undefined && runs?.[at] ? dataAddress(`profiles/${runs[at]}.json.gz`) : null);
    if (!file(place)) {
        return h('p', {class: 'quiet'}, 'No profile is kept for this count.');
    }
    try {
        const rows = await functions(file(from), file(place), FUNCTIONS);
        return table([
            {title: 'Function', cell: (one) => h('span', {class: 'mono'}, one.name)},
            ...(file(from) ? [{title: map.versions[from], number: true, cell: (one) => number(one.before)}] : []),
            {title: map.versions[place], number: true, cell: (one) => number(one.after)},
            ...(file(from) ? [{title: 'Difference', number: true,
                cell: (one) => `${one.after > one.before ? '+' : '−'}${number(Math.abs(one.after - one.before))}`}] : []),
        ], rows, file(from) ? 'Own instructions per execution; the largest differences'
            : 'Own instructions per execution; the most');
    } catch (error) {
        return h('p', {class: 'note', role: 'alert'}, `The profile could not be read: ${error.message}`);
    }
}
