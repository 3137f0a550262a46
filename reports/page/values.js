// One bar per value of each parameter, the parameters that matter most first.
const chosen = {search: 'that the search chose', chance: 'drawn at random', all: 'of a space that was tried whole', unknown: 'chosen in a way that is not known'};
const byValue = (section, rows, timed, ranked) => {
  if (timed.length < 2) return null;
  const best = rows.ms[timed[0]];
  const bars = ranked.filter(one => one.values.length > 1).map(({p, values, share}) => {
    const reached = (lists, which) => lists.map(list => list.length ? best / which(list.map(i => rows.ms[i])) : null);
    return chart(data.parameters[p].name, share === null ? '' : `Alone explains ${percent(share)} of the variance (n = ${count(timed.length)}).`, () => {
      const lists = values.map(({list}) => list.filter(i => isHighlighted(rows, i)));
      return {type: 'bar', data: {labels: values.map((one, n) => [short(one.text, 12), `n ${count(lists[n].length)}`]), datasets: [
        {label: 'best', data: reached(lists, ms => ms[0]), backgroundColor: color(0)},
        {label: 'median', data: reached(lists, median), backgroundColor: color(1)}]},
      options: {onClick: (_, [hit]) => hit && highlight(p, values[hit.index].number), scales: {x: {ticks: {maxRotation: 0}}, y: shareAxis('share of the best')}}};
    },
    () => {
      const lists = values.map(one => one.list), bests = reached(lists, ms => ms[0]), medians = reached(lists, median);
      return table(data.parameters[p].name, [{title: 'value'}, {title: 'timed', number: true}, {title: 'best', number: true},
        {title: 'median', number: true}], values.map(({text}, n) => [{text, value: numeric(text)}, lists[n].length,
        {text: percent(bests[n]), value: bests[n]}, {text: percent(medians[n]), value: medians[n]}]));
    }, 5);
  });
  const explained = ranked.some(one => one.share !== null) ? ` Above them: how much of the variance of log time among these ${count(timed.length)} ` +
    `timed configurations, ${chosen[section.chosen_by] ?? chosen.search}, the parameter explains by itself; parameters that depend on each other share what they explain.` : '';
  return bars.length ? element('div', {}, element('p', {text: 'Bars: the share of the kernel’s best speed that the best and the ' +
    'median configuration with a value reach; n: how many were timed. A click on a bar highlights its value in the charts of configurations and parameters.' + explained}), legend([['best', 0], ['median', 1]], '■'), element('div', {class: 'grid'}, ...bars)) : null;
};
