// A heat map of any two parameters: a table with colored cells, which a screen reader reads, too.
const heatCell = (rows, list, best, of) => {
  if (!list) return null;
  const failed = list.filter(i => failedOf(rows, i));
  const why = () => {
    const [status] = [...grouped(failed, i => rows.status[i])].sort((a, b) => b[1].length - a[1].length)[0];
    return data.statuses[status];
  };
  if (of === 'fits') {
    if (failed.length === list.length) return {gap: why().split('/').pop(), title: `${failed.length} rejected: ${why()}`};
    return {text: percent(1 - failed.length / list.length), share: 1 - failed.length / list.length,
      title: `${list.length - failed.length} of ${list.length} fit`};
  }
  const ms = list.map(i => rows.ms[i]).filter(v => v !== null).sort((a, b) => a - b);
  if (!ms.length) return failed.length ? {gap: why().split('/').pop(), title: `${failed.length} failed: ${why()}`} : null;
  const shown = of === 'best' ? ms[0] : median(ms);
  return {text: percent(best / shown), share: best / shown, title: `${time(shown)}, ${ms.length} timed`};
};

const heatMap = (rows, list, kernel, dry) => {
  const timed = list.filter(i => rows.ms[i] !== null);
  const names = varied(rows, list);
  if (names.length < 2) return null;
  const best = smallest(timed.map(i => rows.ms[i]));
  const ranked = byImportance(rows, timed, names).map(one => one.p);
  const options = names.map(p => [String(p), data.parameters[p].name]);
  const place = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Heat map'});
  const fill = () => {
    const [px, py] = [Number(x.value), Number(y.value)];
    const cells = grouped(list, i => `${rows.values[py][i]} ${rows.values[px][i]}`);
    const columns = valuesOf(rows, list, px);
    const number = (p, v) => data.parameters[p].values.indexOf(v);
    place.replaceChildren(colored(dry
      ? `Share of the configurations of ${kernel} that fit: ${data.parameters[py].name} down, ${data.parameters[px].name} across.`
      : `Share of the best time of ${kernel}: ${data.parameters[py].name} down, ${data.parameters[px].name} across; the ` +
        `${of.value} of all configurations with both values. In words: why nothing was timed.`,
    `${data.parameters[py].name} \\ ${data.parameters[px].name}`, columns,
    valuesOf(rows, list, py).map(vy => [vy, columns.map(vx => heatCell(rows, cells.get(`${number(py, vy)} ${number(px, vx)}`), best, of.value))])));
  };
  const y = choice('Rows', options, String(ranked[1]), fill);
  const x = choice('Columns', options, String(ranked[0]), fill);
  const of = dry ? {value: 'fits'} : choice('Color', [['best', 'best time'], ['median', 'median time']], 'best', fill);
  fill();
  return element('div', {}, element('h3', {text: 'Heat map'}), element('div', {class: 'controls'}, y.label, x.label, of.label), place);
};
