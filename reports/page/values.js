// One bar per value of each parameter, the parameters that matter most first.
const chosen = {search: 'that the search chose', chance: 'drawn at random', all: 'of a space that was tried whole'};
const byValue = (section, rows, timed, ranked) => {
  if (timed.length < 2) return null;
  const best = rows.ms[timed[0]];
  const bars = ranked.filter(one => one.values.length > 1).map(({p, values, share}) => {
    const within = ({list}) => list.filter(i => isHighlighted(rows, i));
    const labels = () => values.map(one => [short(one.text, 12), `n ${count(within(one).length)}`]);
    const bests = values.map(({list}) => best / rows.ms[list[0]]);
    const medians = values.map(({list}) => best / median(list.map(i => rows.ms[i])));
    return chart(data.parameters[p].name, share === null ? '' : `Alone explains ${percent(share)} of the variance (n = ${count(timed.length)}).`, () => {
      const lists = values.map(within), of = which => lists.map(list => list.length ? best / which(list.map(i => rows.ms[i])) : null);
      return {type: 'bar', data: {labels: labels(), datasets: [
        {label: 'best', data: of(ms => ms[0]), backgroundColor: color(0)},
        {label: 'median', data: of(median), backgroundColor: color(1)}]},
      options: {onClick: (_, [hit]) => hit && highlight(p, values[hit.index].number), scales: {x: {ticks: {maxRotation: 0}}, y: shareAxis('share of the best')}}};
    },
    () => table(data.parameters[p].name, [{title: 'value'}, {title: 'timed', number: true}, {title: 'best', number: true},
      {title: 'median', number: true}], values.map(({text, list}, n) => [{text, value: numeric(text)}, list.length,
      {text: percent(bests[n]), value: bests[n]}, {text: percent(medians[n]), value: medians[n]}])), 5);
  });
  const explained = ranked.some(one => one.share !== null) ? ` Above them: how much of the variance of log time among these ${count(timed.length)} ` +
    `timed configurations, ${chosen[section.chosen_by] ?? chosen.search}, the parameter explains by itself; parameters that depend on each other share what they explain.` : '';
  return bars.length ? element('div', {}, element('p', {text: 'Bars: the share of the kernel’s best speed that the best and the ' +
    'median configuration with a value reach; n: how many were timed. A click on a bar highlights its value everywhere.' + explained}), legend([['best', 0], ['median', 1]], '■'), element('div', {class: 'grid'}, ...bars)) : null;
};
