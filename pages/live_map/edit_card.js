// The card about the chosen site or zone: its name, its kind, and the way to delete it.

import { button, element } from './page.js';

/** @typedef {import('./editor.js').Zone} Zone @typedef {import('./editor.js').Site} Site */

export const MEANINGS = { not_in: 'No facilities in here', only_in: 'Facilities only in here' };

export class EditCard {
  /** @param {import('./editor.js').Editor} owner */
  constructor(owner) {
    this.owner = owner;
    this.root = element('form', 'card', { 'aria-label': 'About the selection' });
    this.root.hidden = true;
    this.shown = '';
    owner.box.append(this.root);
    this.root.addEventListener('submit', (event) => {
      event.preventDefault();
      this.rename();
      owner.choose(null);
      owner.map?.getCanvas().focus();
    });
    this.root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.preventDefault();
        if (this.input) this.input.value = this.item()?.name ?? '';
        owner.choose(null);
        owner.map?.getCanvas().focus();
      }
    });
  }

  item() {
    return this.owner.chosen ? this.owner.item(this.owner.chosen) : undefined;
  }

  /** @param {boolean} open  whether the name is to be edited at once */
  show(open) {
    const { owner, root } = this;
    const { chosen } = owner;
    const item = this.item();
    root.hidden = !item;
    owner.furniture.tip.hidden = true;
    this.shown = chosen ? `${chosen.what} ${chosen.id}` : '';
    if (!item || !chosen) return root.replaceChildren();
    const zone = chosen.what === 'zone';
    const locked = Boolean(/** @type {Site} */ (item).locked);
    const title = zone ? 'Zone' : `Site ${owner.sites.indexOf(/** @type {Site} */ (item)) + 1}`;
    const name = element('label', '', {}, 'Name');
    const input = /** @type {HTMLInputElement} */ (element('input', '', { type: 'text', maxlength: '80', autocomplete: 'off' }));
    input.value = item.name;
    input.disabled = locked;
    input.addEventListener('change', () => this.rename());
    this.input = input;
    name.append(input);
    const actions = element('div', 'actions');
    actions.append(element('button', '', { type: 'submit' }, 'Done'));
    if (!locked) actions.append(button('plain', 'Delete', () => owner.drop(chosen)));
    root.replaceChildren(element('h2', '', {}, title), name, ...(zone ? [this.kinds(/** @type {Zone} */ (item))] : []), actions);
    if (open && !locked) input.focus();
    return undefined;
  }

  /** @param {Zone} zone */
  kinds(zone) {
    const { owner } = this;
    const set = element('fieldset');
    set.append(element('legend', '', {}, 'What it means'));
    for (const [kind, words] of Object.entries(MEANINGS)) {
      const choice = /** @type {HTMLInputElement} */ (element('input', '', { type: 'radio', name: 'kind', value: kind }));
      choice.checked = zone.kind === kind;
      choice.addEventListener('change', () => {
        const now = this.item();
        if (!now || !owner.chosen) return;
        /** @type {Zone} */ (now).kind = owner.lastKind = /** @type {keyof typeof MEANINGS} */ (kind);
        owner.changed(owner.chosen);
      });
      const label = element('label', 'choice');
      label.append(choice, words);
      set.append(label);
    }
    return set;
  }

  rename() {
    const item = this.item();
    const { chosen } = this.owner;
    const name = this.input?.value.trim() ?? '';
    if (!item || !chosen || item.name === name) return;
    item.name = name;
    this.owner.changed(chosen);
  }

  /** The server has said what is drawn: keep what is being written. */
  refresh() {
    const item = this.item();
    const root = /** @type {ShadowRoot | Document} */ (this.root.getRootNode());
    if (item && this.input && root.activeElement !== this.input) this.input.value = item.name;
  }
}
