// A section's configurations stand in columns: rows.ms[i] is the time of the i-th, null where it has none. Those that were
// timed are the first, the fastest first, and what is chosen from a list stays in its order.
let data = JSON.parse(document.getElementById('data').textContent);

// A column of which only one cell is stored has it everywhere.
const wholeRows = ({count, rows}) => {
  const whole = column => column.length === 1 && count > 1 ? Array(count).fill(column[0]) : column;
  return {...Object.fromEntries(Object.entries(rows).map(([name, column]) => [name, whole(column)])), values: rows.values.map(whole)};
};
// Parameters that have one value wherever they occur are said once, not in each configuration.
const constantsOf = () => new Map(data.pairs || data.sections.every(one => one.count < 2) && data.sections.length < 2 ? []
  : data.parameters.filter(one => one.values.length === 1).map(one => [one.name, one.values[0]]));
let constants = constantsOf();

const indices = rows => rows.ms.map((_, i) => i);
const timedOf = rows => indices(rows).filter(i => rows.ms[i] !== null);
const failedOf = (rows, i) => !['correct', 'fits'].includes(data.statuses[rows.status[i]]);
const valueText = (rows, p, i) => rows.values[p][i] < 0 ? null : data.parameters[p].values[rows.values[p][i]];
const withoutConstants = pairs => pairs.filter(([n]) => !constants.has(n)).map(([n, v]) => `${n}=${v}`).join(',');
const configuration = (rows, i) => withoutConstants(data.parameters.map((one, p) => [one.name, valueText(rows, p, i)]).filter(([, v]) => v !== null));

// Work of the i-th configuration for each byte that must move, and in a second; null where it is not known.
const flopPerByte = (rows, i) => rows.flops[i] > 0 && rows.bytes[i] > 0 ? rows.flops[i] / rows.bytes[i] : null;
const tflopPerSecond = (rows, i) => rows.flops[i] > 0 && rows.ms[i] !== null ? rows.flops[i] / rows.ms[i] / 1e9 : null;

const numeric = text => text !== null && text !== '' && isFinite(text) ? Number(text) : text;
const before = (a, b) => {
  const [x, y] = [numeric(a), numeric(b)];
  return typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === 'number' ? -1 : 1;
};
// Rows by what `of` says of them.
const grouped = (list, of) => {
  const groups = new Map();
  for (const i of list) {
    const name = of(i);
    const group = groups.get(name);
    if (group) group.push(i); else groups.set(name, [i]);
  }
  return groups;
};
// Rows that have this value of a parameter are highlighted in the charts of configurations and parameters.
let highlighted = null;
let highlight = () => {};  // Chooses it, or lets go of it.
const isHighlighted = (rows, i) => !highlighted || rows.values[highlighted.p][i] === highlighted.number;

// The values of a parameter that rows of `list` have, each with its rows.
const valuesOf = (rows, list, p) => {
  const groups = grouped(list, i => rows.values[p][i]);
  groups.delete(-1);
  return [...groups].map(([number, its]) => ({number, text: data.parameters[p].values[number], list: its}))
    .sort((a, b) => before(a.text, b.text));
};
// The parameters that have more than one value among the rows of `list`.
const varied = (rows, list) => data.parameters.map((_, p) => p).filter(p => {
  const values = rows.values[p];
  let first = -1;
  return list.some(i => {
    if (values[i] < 0) return false;
    if (first < 0) first = values[i];
    return values[i] !== first;
  });
});

// Fewer times do not tell how much a parameter matters (tuner/core/main_effects.h).
const fewestTimes = 12;

// Parameters with their values among rows that were timed, and with the share of the variance of log time that each
// explains by itself, less what chance would; the most important first. The share is null where the times are too few.
const byImportance = (rows, timed, parameters) => {
  const logs = Float64Array.from(rows.ms, Math.log);
  const mean = list => list.reduce((sum, i) => sum + logs[i], 0) / list.length;
  const all = mean(timed);
  const total = timed.reduce((sum, i) => sum + (logs[i] - all) ** 2, 0);
  const enough = timed.length >= Math.max(fewestTimes, parameters.length + 2);
  return parameters.map(p => {
    const values = valuesOf(rows, timed, p);
    const between = values.reduce((sum, {list}) => sum + list.length * (mean(list) - all) ** 2, 0);
    const freedom = timed.length - values.length;
    const byChance = (values.length - 1) * (total - between) / freedom;
    const share = total > 0 && freedom > 0 ? Math.max(0, (between - byChance) / total) : 0;
    return {p, values, share: enough ? share : null};
  }).sort((a, b) => b.share - a.share);
};
