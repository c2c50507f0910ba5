/* Block sizes: the statistics of each size, and the sizes over versions. */

import {
    asked, better, change, chooses, count, form, h, interval, nothing, number, oneOf, put, run,
    select, sources, spellMetric, table, unique,
} from './lib.js';
import {chart, told} from './chart.js';
import {
    called, clientsControl, controls, epochOf, foremost, loadPanel, metricControl, narrow, words,
} from './choice.js';
import {ratioOf, verdict} from './statistics.js';

const USUAL = 'bs8';
const SIZES = /^bs(\d+)(?:-wal(\d+))?(?:-(.+))?$/;

run(async function draw(index, place) {
    const several = index.panels.filter((panel) => panel.variants.length > 1);
    if (!several.length) {
        nothing(place, 'Only one build of each version was measured. '
            + 'To measure another block size: landspeed run 18:bs4 18 --preset quick');
        return;
    }
    const again = () => draw(index, place);
    const {chosen, fields, panels} = narrow(several);
    const panel = await loadPanel(panels[0]);
    const metric = oneOf(asked('metric'), panel.metrics,
        panel.metrics.includes('tps') ? 'tps' : panel.metrics[0]);
    const clients = Number(oneOf(asked('clients'), panel.clients.map(String)));
    const points = panel.points.filter((p) => p.clients === clients && p[metric]);
    const varied = panel.categories.filter((one) => unique(points.filter(
        (p) => p.version === one.name).map((p) => p.variant)).length > 1);
    const names = varied.map((one) => one.name);
    const version = oneOf(asked('version'), names, names[names.length - 1]);
    const of = points.filter((p) => p.version === version).sort(bySize);
    const base = of.find((p) => p.variant === USUAL) || of[0];
    const data = {index, panel, metric, clients, points, version, of, base, varied};
    put(place,
        form(
            controls(fields, chosen, again),
            metricControl(index, panel.metrics, metric, again),
            clientsControl(panel, clients, again),
            select('Version', varied.map((one) => ({value: one.name, text: called(one)})), version,
                chooses('version', again))),
        ...(of.length ? shown(data)
            : [h('p', {class: 'note'}, 'In this cell no version was measured in two builds.')]));
});

const sizes = (variant) => {
    const match = SIZES.exec(variant) || [];
    return {block: Number(match[1] || 8), wal: Number(match[2] || 8), rest: match[3] || ''};
};

function bySize(a, b) {
    const [one, other] = [sizes(a.variant), sizes(b.variant)];
    return one.rest.localeCompare(other.rest) || one.wal - other.wal || one.block - other.block;
}

const spelled = (variant) => {
    const {block, wal, rest} = sizes(variant);
    return [`${block} kB`, wal === 8 ? '' : `WAL ${wal} kB`, rest].filter(Boolean).join(', ');
};

function shown(data) {
    const {index, panel, metric, clients, version, of} = data;
    const unit = index.metrics[metric].unit;
    const labels = of.map((p) => spelled(p.variant));
    const where = `${version} · ${words(panel)} · ${count(clients, 'client')}`;
    return [
        h('figure', {},
            h('p', {class: 'plot-title'}, spellMetric(index, metric), ' ',
                h('span', {}, `· ${better(index, metric)} · ${where}`)),
            chart({
                label: `${spellMetric(index, metric)} by block size of ${version}`,
                x: {kind: 'category', values: labels},
                y: {zero: true},
                height: 280,
                series: [{label: version, place: 0, points: of.map((p, i) => ({
                    ...p[metric], x: labels[i],
                    told: told(spelled(p.variant), p[metric], unit)}))}],
            }),
            h('figcaption', {}, index.method),
            sources(panel, metric, {clients})),
        h('h2', {}, `Block sizes of ${version}`),
        sizeTable(data),
        h('h2', {}, 'Block sizes over versions'),
        trendTable(data),
    ];
}

function sizeTable({index, panel, metric, of, base}) {
    const rule = index.metrics[metric];
    const against = (p) => {
        if (p === base) {
            return 'baseline';
        }
        const found = comparable(panel, base, p) ? ratioOf(base[metric], p[metric], index.t_975) : null;
        return ratioText(found, rule);
    };
    return table([
        {title: 'Block size', cell: (p) => spelled(p.variant)},
        {title: 'Build', cell: (p) => h('code', {}, p.variant)},
        {title: `Mean, ${rule.unit}`, number: true, cell: (p) => number(p[metric].mean)},
        {title: '± std. dev.', number: true, cell: (p) => number(p[metric].sd)},
        {title: '95 % interval', number: true, cell: (p) => interval(p[metric])},
        {title: 'Min', number: true, cell: (p) => number(p[metric].min)},
        {title: 'Median', number: true, cell: (p) => number(p[metric].median)},
        {title: 'Max', number: true, cell: (p) => number(p[metric].max)},
        {title: 'Runs', number: true, cell: (p) => p[metric].n},
        {title: `Against ${spelled(base.variant)}`, number: true, cell: against},
    ], of, `${spellMetric(index, metric)}, ${words(panel)}`);
}

const comparable = (panel, a, b) => epochOf(panel, a) === epochOf(panel, b);

/* A change with its interval, coloured where the interval excludes no change. */
function ratioText(found, rule) {
    if (!found) {
        return '–';
    }
    const word = verdict(found, rule);
    const range = found.low === undefined ? ''
        : ` [${change(found.low)}, ${change(found.high)}]`;
    return h('span', {class: word === 'better' || word === 'worse' ? word : null},
        h('span', {class: 'strong'}, change(found.ratio)), range);
}

function trendTable({index, panel, metric, points, varied}) {
    const rule = index.metrics[metric];
    const variants = unique(points.map((p) => p.variant)).sort(
        (a, b) => bySize({variant: a}, {variant: b}));
    const foremostOf = foremost(varied);
    const rows = foremostOf.length ? foremostOf : varied;
    const find = (version, variant) => points.find(
        (p) => p.version === version && p.variant === variant);
    const base = variants.includes(USUAL) ? USUAL : variants[0];
    return table([
        {title: 'Version', cell: (one) => called(one)},
        ...variants.map((variant) => ({
            title: spelled(variant),
            number: true,
            cell: (one) => {
                const [own, from] = [find(one.name, variant), find(one.name, base)];
                if (!own) {
                    return '–';
                }
                const isOther = from && own !== from && comparable(panel, from, own);
                const found = isOther ? ratioOf(from[metric], own[metric], index.t_975) : null;
                return h('span', {}, number(own[metric].mean), found ? ' ' : null, found
                    ? h('span', {class: `small ${verdict(found, rule)}`}, change(found.ratio)) : null);
            },
        })),
    ], rows, `Mean ${spellMetric(index, metric)}, and the change against ${spelled(base)}; `
        + 'coloured where the 95 % interval excludes no change');
}
