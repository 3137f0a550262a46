// A section's configurations stand in columns: rows.ms[i] is the time of the i-th, null where it has none.
let data = JSON.parse(document.getElementById('data').textContent);

const indices = rows => rows.ms.map((_, i) => i);
const timedOf = rows => indices(rows).filter(i => rows.ms[i] !== null);
const failedOf = (rows, i) => !['correct', 'fits'].includes(data.statuses[rows.status[i]]);
const valueText = (rows, p, i) => rows.values[p][i] < 0 ? null : data.parameters[p].values[rows.values[p][i]];
const configuration = (rows, i) => data.parameters.map((one, p) => [one.name, valueText(rows, p, i)])
  .filter(([, v]) => v !== null).map(([n, v]) => `${n}=${v}`).join(',');

const numeric = text => text !== null && text !== '' && isFinite(text) ? Number(text) : text;
const inOrder = values => [...values].sort((a, b) => {
  const [x, y] = [numeric(a), numeric(b)];
  return typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === 'number' ? -1 : 1;
});
// The values of a parameter that rows of `list` have.
const valuesOf = (rows, list, p) => inOrder([...new Set(list.map(i => rows.values[p][i]).filter(v => v >= 0))]
  .map(v => data.parameters[p].values[v]));
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

// Share of the variance of log time among rows that one parameter explains.
const explained = (rows, list, p) => {
  const mean = of => of.reduce((sum, i) => sum + Math.log(rows.ms[i]), 0) / of.length;
  const all = mean(list);
  const total = list.reduce((sum, i) => sum + (Math.log(rows.ms[i]) - all) ** 2, 0);
  let between = 0;
  for (const group of grouped(list, i => rows.values[p][i]).values()) between += group.length * (mean(group) - all) ** 2;
  return total > 0 ? between / total : 0;
};
const byImportance = (rows, list, names) => names.map(p => ({p, share: list.length > 1 ? explained(rows, list, p) : 0}))
  .sort((a, b) => b.share - a.share);
