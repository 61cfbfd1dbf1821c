// The keys of the whole page, and their help.

const POINTS = "Digits choose a class. With a point in focus, arrows move it, digits relabel it, and "
  + "Delete removes it.";
const TIME = "space plays, \u2190 \u2192 step, ";
const ALWAYS = " Ctrl+Z and Ctrl+Y undo and redo. F: full screen. R: reveal one part at a time.";
const TOLD = { descent: `${TIME}Home and End. Arrows move the ring or the slider in focus.`,
  classes: `${TIME}M next mistake, Home and End. ${POINTS}` };

// The help at the foot of the page, by mode.
export function keysOf(room) { return `Keys: ${TOLD[room] ?? POINTS}${ALWAYS}`; }

// Whether a text is typed, which has an undo of its own; a number that was taken over has not.
function typesText({ tagName, type, value, defaultValue }) {
  return tagName === "TEXTAREA" || (tagName === "INPUT" && (type === "text"
    || (type === "number" && value !== defaultValue)));
}

function withControl({ undo }, event) {
  const key = event.key.toLowerCase();
  if (event.altKey || typesText(event.target)) return null;
  if (key === "y" || (key === "z" && event.shiftKey)) return () => undo.redo();
  return key === "z" ? () => undo.undo() : null;
}

function alone(lab, event) {
  const { clock, stage } = lab;
  const target = event.target;
  const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "Escape" && stage.on) return () => stage.toggle();
  if (typing && (target.type !== "range" || /^(Arrow|Home|End|Page)/.test(key))) return null;
  if (key === " " && ["BUTTON", "SUMMARY"].includes(target.tagName)) return null;
  if (/^\d$/.test(key)) return () => lab.chooseClass((Number(key) + 9) % 10);
  return { ArrowLeft: () => clock.go((t) => t - 1),
    ArrowRight: () => clock.go((t) => t + 1), Home: () => clock.go(() => 0),
    End: () => clock.go(() => lab.rounds), m: () => clock.nextMistake(),
    f: () => stage.toggle(), r: () => stage.reveal(), Escape: () => lab.select(null),
    " ": () => clock.toggle() }[key];
}

export function press(lab, event) {
  if (!lab.scene) return;
  const control = event.ctrlKey || event.metaKey;
  const action = control ? withControl(lab, event) : event.altKey ? null : alone(lab, event);
  if (!action) return;
  action();
  event.preventDefault();
}
