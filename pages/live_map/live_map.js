// The door: Streamlit calls the function below on every change of data or theme; what it made stays with its element.

import { Editor } from './editor.js';
import { MapView } from './map_view.js';
import { element } from './page.js';
import { Sentence } from './sentence.js';

/** @type {WeakMap<Element, {ready: Promise<void>, view: MapView | Editor | Sentence}>} */
const living = new WeakMap();
const KINDS = { map: MapView, editor: Editor, sentence: Sentence };

/** @param {any} component */
export default async function show(component) {
  const { parentElement, data } = component;
  let it = living.get(parentElement);
  if (!it) {
    for (const href of data.sheets) parentElement.append(element('link', '', { rel: 'stylesheet', href }));
    it = { ready: Promise.resolve(), view: new KINDS[/** @type {'map'} */ (data.kind)](component) };
    living.set(parentElement, it);
  }
  const { view } = it;
  it.ready = it.ready.catch(() => {}).then(() => view.update(data, component));
  await it.ready;
  return () => {
    view.remove();
    living.delete(parentElement);
  };
}
