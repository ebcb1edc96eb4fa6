// Parts of a page that move together: two maps in step, a map and its sentence. They share one document.

/**
 * @typedef {{dial?: number, seq?: number, playing?: boolean, view?: {center: [number, number], zoom: number}}} News
 *   what changed: t, the number of that turn and whether it plays, or where the map stands
 * @typedef {{follow(news: News): void}} Member
 */

/** @type {Map<string, Group>} */
const groups = new Map();

export class Group {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    /** @type {Set<Member>} */
    this.members = new Set();
    /** @type {News} */
    this.last = {};
  }

  /** @param {string} name @param {Member} member */
  static join(name, member) {
    const group = groups.get(name) ?? new Group(name);
    groups.set(name, group);
    group.members.add(member);
    return group;
  }

  /** @param {Member} member */
  leave(member) {
    this.members.delete(member);
    if (!this.members.size) groups.delete(this.name);
  }

  /** Tell the others, at once: they change in the same frame. @param {Member} from @param {News} news */
  share(from, news) {
    Object.assign(this.last, news);
    for (const member of this.members) if (member !== from) member.follow(news);
  }
}
