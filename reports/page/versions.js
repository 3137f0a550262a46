// Two versions of a space's kernels: before and after, with intervals.
const versions = () => {
  const pairs = data.pairs;
  const name = pair => `${pair.problem}: ${pair.what}`;
  const side = (pair, which) => pair[which].ms === null ? pair[which].failure : time(pair[which].ms);
  const timed = pairs.filter(pair => pair.old.ms !== null && pair.new.ms !== null);
  const relative = which => timed.map((pair, n) => [n + (which === 'old' ? -0.12 : 0.12),
    ...['low', 'ms', 'high'].map(what => pair[which][what] / pair.old.ms)]);
  const judged = pairs.filter(pair => pair.percent !== null);
  const signed = v => `${v > 0 ? '+' : ''}${digits(v, 3)} %`;
  return [
    element('div', {class: 'findings', role: 'status'}, ...data.findings.map(text => element('p', {}, ...breakable(text)))),
    element('h2', {text: 'Before and after'}),
    timed.length ? chart('Before and after', 'Medians and their 95 % confidence intervals, as a share of the old median: left is faster.',
      () => intervals([{label: short(data.old), color: color(7), intervals: relative('old')}, {label: short(data.new), color: color(0), intervals: relative('new')}],
        'time, as a share of the old', v => percent(v), timed.map(name)), null, 2 * timed.length) : null,
    judged.length ? chart('Change', `How much slower the new version is, from rounds of both in turn; ${digits(data.tolerance_percent, 3)} % are tolerated.`,
      () => intervals([{label: 'slower by', color: color(1), intervals: judged.map((pair, n) => [n, pair.low_percent, pair.percent, pair.high_percent])}],
        'slower by', signed, judged.map(name), {suggestedMin: -data.tolerance_percent, suggestedMax: data.tolerance_percent}), null, judged.length) : null,
    table('Pairs', [{title: 'problem'}, {title: 'what'}, {title: 'configuration'}, {title: 'old', number: true}, {title: 'new', number: true},
      {title: 'new against old'}], pairs.map(pair => [pair.problem, pair.what, pair.configuration,
      {text: side(pair, 'old'), value: pair.old.ms}, {text: side(pair, 'new'), value: pair.new.ms}, pair.verdict])),
    element('p', {class: 'controls'}, element('button', {type: 'button', text: 'Save everything as JSON',
      onclick: () => download('diff.json', 'application/json', JSON.stringify(data))})),
  ];
};
