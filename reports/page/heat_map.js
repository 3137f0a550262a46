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
    return {text: wholePercent(1 - failed.length / list.length), share: 1 - failed.length / list.length,
      title: `${list.length - failed.length} of ${list.length} fit`};
  }
  const ms = list.map(i => rows.ms[i]).filter(v => v !== null);
  if (!ms.length) return failed.length ? {gap: why().split('/').pop(), title: `${failed.length} failed: ${why()}`} : null;
  const shown = of === 'best' ? ms[0] : median(ms);
  return {text: wholePercent(best / shown), share: best / shown, title: `${time(shown)}, ${ms.length} timed`};
};

const heatMap = (rows, list, kernel, ranked, dry) => {
  if (ranked.length < 2) return null;
  const best = rows.ms[list[0]];
  const options = ranked.map(({p}) => [String(p), data.parameters[p].name]);
  const place = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Heat map'});
  const fill = () => {
    const [px, py] = [Number(x.value), Number(y.value)];
    const [columns, lines] = [valuesOf(rows, list, px), valuesOf(rows, list, py)];
    const cellOf = (y, x) => (y + 1) * (data.parameters[px].values.length + 1) + x + 1;  // -1 is no value.
    const cells = grouped(list, i => cellOf(rows.values[py][i], rows.values[px][i]));
    place.replaceChildren(colored(dry
      ? `Share of the configurations of ${kernel} that fit, in per cent: ${data.parameters[py].name} down, ${data.parameters[px].name} across.`
      : `Share of the best time of ${kernel}, in per cent: ${data.parameters[py].name} down, ${data.parameters[px].name} across; the ` +
        `${of.value} of all configurations with both values. In words: why nothing was timed.`,
    `${data.parameters[py].name} \\ ${data.parameters[px].name}`, columns.map(one => one.text),
    lines.map(line => [line.text, columns.map(column => heatCell(rows, cells.get(cellOf(line.number, column.number)), best, of.value))])));
  };
  // A page is longer than wide.
  const [across, down] = ranked.slice(0, 2).sort((a, b) => valuesOf(rows, list, a.p).length - valuesOf(rows, list, b.p).length);
  const y = choice('Rows', options, String(down.p), fill);
  const x = choice('Columns', options, String(across.p), fill);
  const of = dry ? {value: 'fits'} : choice('Color', [['best', 'best time'], ['median', 'median time']], 'best', fill);
  fill();
  return element('div', {}, element('h3', {text: 'Heat map'}), element('div', {class: 'controls'}, y.label, x.label, of.label), place);
};
