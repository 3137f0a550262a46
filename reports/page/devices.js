// Several devices: their winners, and what each one's best keeps on the others.
const at = problem => problem ? ` at ${problem}` : '';
const devicesSideBySide = () => {
  if (!data.devices.length) return null;
  return element('section', {}, element('h2', {text: 'Devices side by side'}), ...data.devices.flatMap(one => [
    one.problem ? element('h3', {text: one.problem}) : null,
    table(`Winners${at(one.problem)}`, [{title: 'device'}, {title: 'kernel'}, {title: 'configuration'}, {title: 'time', number: true}],
      one.winners.map(w => [w.device, w.kernel, w.configuration, {text: time(w.ms), value: w.ms}])),
    element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Portability matrix${at(one.problem)}`},
      colored('What each device’s best reaches on the others, as a share of their own best; a dot where it was never measured.',
        'best of \\ run on', one.winners.map(w => w.device), one.shares.map((line, of) => [one.winners[of].device,
          line.map(cell => cell === null ? null : typeof cell === 'string' ? {gap: 'fails', title: cell} : {text: percent(cell), share: cell})]))),
    element('ul', {}, ...one.sentences.map(text => element('li', {}, ...breakable(text)))),
  ]));
};
