// The page inside Panel: messages go over its web socket.

import { Lab } from "./lab.js";

export function render({ model, el }) {
  let lab = null;
  model.on("msg:custom", (answer) => lab?.answered(answer.data ?? answer));
  const connection = { send: (message) => model.send_msg(message) };
  lab = new Lab(el, connection);
}
