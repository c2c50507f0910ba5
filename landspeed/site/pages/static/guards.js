/* Guards: the share of the server's functions that workloads execute, by directory, file, function. */

import {asked, count, h, load, nothing, number, put, run, site, table} from './lib.js';
import {keyOf, usualMap} from './heat.js';

run(async function draw(index, place) {
    const facts = await load('guards/index.json');
    if (facts.reason) {
        nothing(place, `${facts.reason} Count with: landspeed run 18 --suite all --metric instructions`);
        return;
    }
    const below = asked('below') ?? '';
    const file = facts.files.find((one) => one.path === below);
    const files = facts.files.filter((one) => one.path === below || one.path.startsWith(`${below}/`));
    put(place,
        h('p', {}, `${facts.server}, ${count(facts.workloads.length, 'workload')} counted.`),
        crumbs(below),
        file ? await functions(facts, file) : below && files.length ? list(files, 'File', basename)
            : directories(facts.files),
        h('p', {class: 'small quiet'}, h('code', {}, `landspeed show --guards ${below || 'src/backend/'}`)));
});

const address = (below) => {
    const where = new URL('landspeed/guards.html', site);
    where.search = below ? new URLSearchParams({below}) : '';
    return where.href;
};
const parent = (path) => path.slice(0, path.lastIndexOf('/'));
const basename = (path) => path.slice(path.lastIndexOf('/') + 1);

function crumbs(below) {
    if (!below) {
        return null;
    }
    const above = below.endsWith('.c') ? parent(below) : '';
    return h('p', {}, h('a', {href: address('')}, 'All directories'),
        above ? [' › ', h('a', {href: address(above)}, above)] : null, ` › ${above ? basename(below) : below}`);
}

const KEYS = ['functions', 'executed', 'reachable', 'reached'];
const sum = (files, path) => Object.fromEntries([['path', path],
    ...KEYS.map((key) => [key, files.reduce((total, one) => total + one[key], 0)])]);

function directories(files) {
    const names = [...new Set(files.map((one) => parent(one.path)))].sort();
    const rows = names.map((name) => sum(files.filter((one) => parent(one.path) === name), name));
    return list([sum(files, ''), ...rows], 'Directory', (path) => path.replace(/^src\/backend\//, ''));
}

const list = (rows, title, called) => table([
    {title, cell: (one) => (one.path ? h('a', {href: address(one.path)}, called(one.path)) : 'all')},
    {title: 'Functions', number: true, cell: (one) => number(one.functions)},
    {title: 'Executed', number: true, cell: (one) => number(one.executed)},
    {title: 'Share', number: true, cell: (one) => share(one.executed, one.functions)},
    {title: 'Reachable', number: true, cell: (one) => number(one.reachable)},
    {title: 'Executed of these', number: true, cell: (one) => share(one.reached, one.reachable)},
], rows, `Functions of the server's program, by ${title.toLowerCase()}`);

/* A share as a bar with its number. */
const share = (some, all) => (all ? h('span', {class: 'share'},
    h('meter', {min: 0, max: 1, value: some / all, 'aria-hidden': 'true'}),
    h('span', {class: 'percent'}, `${Math.round(100 * some / all)} %`)) : '–');

async function functions(facts, file) {
    const [found, {maps}] = await Promise.all([load(file.data), load('workloads.json')]);
    const map = usualMap(maps);
    const link = (workload) => {
        const row = map?.rows.find((one) => one.mode === workload);
        const where = new URL('landspeed/workloads.html', site);
        where.search = row ? new URLSearchParams({machine: map.machine, build: map.variant,
            cell: `${keyOf(row)}@${map.versions[map.versions.length - 1]}`}) : '';
        return h('a', {href: where.href}, workload);
    };
    const rows = [...found[file.path]].sort((a, b) => a[2] - b[2] || (a[0] < b[0] ? -1 : 1));
    return table([
        {title: 'Function', cell: ([name]) => h('span', {class: 'mono'}, name)},
        {title: 'Reachable', cell: ([, reachable]) => (reachable ? 'yes' : 'no')},
        {title: 'Workloads', number: true, cell: ([,, all]) => (all ? number(all) : 'none')},
        {title: 'Those with the largest share', cell: ([,, all, some]) => (all ? h('span', {},
            some.flatMap((one, i) => [i ? ', ' : '', link(facts.workloads[one])]),
            all > some.length ? ' …' : '') : null)},
    ], rows, `${file.path}: ${count(file.functions, 'function')}, ${number(file.executed)} executed`);
}
