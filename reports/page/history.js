// The winner's time whenever it was in finals, under the drivers and toolkits of then.
const mostPoints = 60;
const winnerHistory = section => {
  const points = section.history?.points ?? [];
  if (points.length < 2) return [];
  const shown = points.slice(-mostPoints);
  const versions = one => [one.driver && `driver ${one.driver}`, one.runtime && `toolkit ${one.runtime}`].filter(text => text).join(', ');
  const sets = [...grouped(shown.map((_, n) => n), n => versions(shown[n]))];
  const at = (n, {ms, low, high} = shown[n].time) => [n, low ?? ms, ms, high ?? ms];
  return [
    ...section.history.sentences.map(text => element('p', {text})),
    chart('The winner’s time', `Its median in each finals, the oldest above, with the 95 % interval` +
      (points.length > shown.length ? `; the last ${shown.length} of ${points.length}.` : '.'),
    () => intervals(sets.map(([label, list], n) => ({label: label || 'driver not known', color: color(n), intervals: list.map(i => at(i))})),
      'time', v => time(v, digits), shown.map(one => one.at.slice(0, 16).replace('T', ' '))),
    () => table('The winner’s time', [{title: 'when (UTC)'}, {title: 'time', number: true}, {title: '95 % interval'}, {title: 'driver'}, {title: 'toolkit'},
      {title: 'compiler'}, {title: 'kernel'}, {title: 'code'}, {title: 'board'}, {title: 'smemtune'}], points.map(one => [one.at,
      {text: time(one.time.ms), value: one.time.ms}, intervalText(one.time), one.driver, one.runtime, one.compiler, one.kernel, one.code, one.board, one.smemtune])), shown.length),
  ];
};
