// Why the winner is faster than its default and the runner-up, in a sentence each, and in what figures they differ.
const why = section => {
  const {of_best: lines, beats} = section.why;
  if (!lines.length && !beats.length) return [];
  const configured = one => `${one.kernel} ${withoutConstants(Object.entries(one.configuration))}`;
  return [
    ...beats.map(one => element('section', {},
      element('h3', {text: `${one.factor.toFixed(2)}x over ${one.other}, ${configured(one)}`}),
      element('p', {text: one.sentence ? `${one.cause}: it ${one.sentence}` : 'No single figure tells why.'}),
      one.differences.length ? element('ul', {}, ...one.differences.map(text => element('li', {text}))) : null)),
    lines.length ? element('section', {}, element('h3', {text: 'The winner by itself'}), ...lines.map(text => element('p', {text}))) : null,
    beats.length || !section.why.silent_because ? null : element('p', {text: `Why it is faster is not known: ${section.why.silent_because}.`}),
  ];
};
