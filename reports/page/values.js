// One bar per value of each parameter, the parameters that matter most first.
const chosen = {search: 'that the search chose', chance: 'drawn at random', all: 'of a space that was tried whole'};
const byValue = (section, rows, timed, ranked) => {
  if (timed.length < 2) return null;
  const best = rows.ms[timed[0]];
  const bars = ranked.filter(one => one.values.length > 1).map(({p, values, share}) => {
    const labels = values.map(one => one.text);
    const bests = values.map(({list}) => best / rows.ms[list[0]]);
    const medians = values.map(({list}) => best / median(list.map(i => rows.ms[i])));
    return chart(data.parameters[p].name, share === null ? '' : `Alone explains ${percent(share)} of the variance.`, () => ({type: 'bar', data: {labels, datasets: [
      {label: 'best', data: bests, backgroundColor: color(0)},
      {label: 'median', data: medians, backgroundColor: color(1)}]},
    options: {scales: {y: {...axis('share of the best'), min: 0, max: 1}}}}),
    () => table(data.parameters[p].name, [{title: 'value'}, {title: 'timed', number: true}, {title: 'best', number: true},
      {title: 'median', number: true}], values.map(({text, list}, n) => [{text, value: numeric(text)}, list.length,
      {text: percent(bests[n]), value: bests[n]}, {text: percent(medians[n]), value: medians[n]}])), true);
  });
  const explained = ranked.some(one => one.share !== null) ? ` Above them: how much of the variance of log time among these ${count(timed.length)} ` +
    `timed configurations, ${chosen[section.chosen_by] ?? chosen.search}, the parameter explains by itself; parameters that depend on each other share what they explain.` : '';
  return bars.length ? element('div', {}, element('p', {text: 'Bars: the share of the kernel’s best speed that the best and the ' +
    'median configuration with a value reach.' + explained}), element('div', {class: 'grid'}, ...bars)) : null;
};
