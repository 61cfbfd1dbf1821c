// The answers to the page, which runs this beside itself: stateless, of scenes that it sends.

import { certified, pointsCsv } from "./certificate.js";
import { MOST_BYTES, sceneOfCsv } from "./csv.js";
import { fitOf } from "./fits.js";
import { parsedLesson } from "./lessons.js";
import { proofOf } from "./proof.js";
import { runOf } from "./runs.js";
import { checkedScene, classNames, LEFT, MOST_CLASSES, MOST_POINTS, urlOf, sceneOfUrl } from "./scene.js";
import { scriptOf } from "./script.js";
import { FIELDS } from "./settings.js";

//: what the file brings: ready-made points by name, the texts of lessons, and the scene it begins with
let file = { ready: {}, lessons: {}, first: "" };
const runs = new Map();

function readyMade(name) {
  if (!Object.hasOwn(file.ready, name)) throw new Error(`There is no ready-made setup '${name.slice(0, 40)}': choose one from the list.`);
  return checkedScene({ ...file.ready[name], name });
}

// A scene that the page sends; it has a name while its points are those of that name.
function sceneOf(given) {
  const scene = checkedScene(given ?? {});
  const known = Object.hasOwn(file.ready, scene.name) ? readyMade(scene.name) : null;
  const mine = ({ points, labels, features }) => JSON.stringify([points, labels, features]);
  return known && mine(known) === mine(scene) ? scene : { ...scene, name: "" };
}

function keptRun(scene) {
  const key = urlOf({ ...scene, at: 0 });
  if (!runs.has(key)) {
    if (runs.size > 8) runs.delete(runs.keys().next().value);
    runs.set(key, runOf(scene));
  }
  return runs.get(key);
}

// A scene with its run or its fit, or the reason why it has neither.
function withResult(scene) {
  const found = { scene, url: urlOf(scene), classNames: classNames(scene), run: null, fit: null, idle: "" };
  try {
    return scene.settings.room === "classes" ? { ...found, run: keptRun(scene) } : { ...found, fit: fitOf(scene) };
  } catch (problem) {
    return { ...found, idle: problem.message };
  }
}

function lesson(name) {
  if (!Object.hasOwn(file.lessons, name)) throw new Error(`There is no lesson '${String(name).slice(0, 40)}'.`);
  return parsedLesson(file.lessons[name], name, readyMade);
}

function opened({ url }) {
  let [scene, fault] = [null, ""];
  try { scene = sceneOfUrl(url.replace(/^#/, "") || file.first, readyMade); } catch (problem) {
    fault = `This URL cannot be shown. ${problem.message}`;
    scene = sceneOfUrl(file.first, readyMade);
  }
  const found = withResult(scene);
  const last = found.run?.rounds ?? (found.fit?.kind === "descent" ? found.fit.rows.length - 1 : scene.at);
  if (scene.at > last) fault = `The last step is ${last.toLocaleString("en")}: for more, see Maximum steps and Beyond a cycle.`;
  const left = LEFT.find((name) => url.includes(`learner=${name}`));
  if (left) fault = `The lab has no ${left} any more: the perceptron learns these points.`;
  const titles = Object.keys(file.lessons).map((name) => ({ name, title: /^\s*# +(.*)/.exec(file.lessons[name])?.[1] ?? name }));
  return { ...found, fields: FIELDS, lessons: titles, limits: { points: MOST_POINTS, classes: MOST_CLASSES, file: MOST_BYTES },
    ready: Object.entries(file.ready).map(([name, { group, title }]) => ({ name, group, title })),
    ...(fault ? { fault } : {}) };
}

const KINDS = {
  file: (given) => { file = given.file; return {}; },
  open: opened,
  scene: ({ ready, scene }) => withResult(ready === undefined ? sceneOf(scene) : readyMade(ready)),
  load: ({ scene, ...given }) => {
    const [made, columns] = sceneOfCsv(given, sceneOf(scene));
    return { ...withResult(made), columns };
  },
  proof: ({ scene: given }) => { const scene = sceneOf(given); return { proof: proofOf(scene, keptRun(scene)) }; },
  script: ({ scene }) => ({ text: scriptOf(sceneOf(scene)) }),
  points: ({ scene }) => ({ text: pointsCsv(sceneOf(scene)).text }),
  certificate: ({ scene }) => certified(sceneOf(scene)),
  lesson: ({ name }) => ({ lesson: lesson(name) }),
};

// The answer to a request; for one that is not valid it is a sentence.
export function answer(request) {
  const { kind, number = 0 } = request;
  try {
    return { kind, number, ...KINDS[kind](request) };
  } catch (problem) {
    return { kind, number, fault: problem.message };
  }
}

if (typeof WorkerGlobalScope !== "undefined") self.onmessage = ({ data }) => self.postMessage(answer(data));
