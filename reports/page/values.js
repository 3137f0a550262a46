// One bar per value of each parameter, the parameters that matter most first.
const byValue = (rows, timed) => {
  if (timed.length < 2) return null;
  const best = smallest(timed.map(i => rows.ms[i]));
  return element('div', {class: 'grid'}, ...byImportance(rows, timed, varied(rows, timed)).map(({p, share}) => {
    const groups = grouped(timed.filter(i => rows.values[p][i] >= 0), i => valueText(rows, p, i));
    const labels = inOrder(groups.keys());
    const times = labels.map(v => groups.get(v).map(i => rows.ms[i]).sort((a, b) => a - b));
    const bests = times.map(ms => best / ms[0]);
    const medians = times.map(ms => best / median(ms));
    return chart(data.parameters[p].name, `Explains ${percent(share)} of the variance of log time by itself. Bars: share of the ` +
      'kernel’s best speed, of the best and of the median configuration with this value.',
    () => ({type: 'bar', data: {labels, datasets: [
      {label: 'best', data: bests, backgroundColor: color(0)},
      {label: 'median', data: medians, backgroundColor: color(1)}]},
    options: {scales: {y: {...axis('share of the best'), min: 0, max: 1}}}}),
    () => table(data.parameters[p].name, [{title: 'value'}, {title: 'timed', number: true}, {title: 'best', number: true},
      {title: 'median', number: true}], labels.map((v, n) => [{text: v, value: numeric(v)}, times[n].length,
      {text: percent(bests[n]), value: bests[n]}, {text: percent(medians[n]), value: medians[n]}])), true);
  }));
};
