import { tooLarge } from '../errors/standard-errors.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { Pointer } from './json-pointer.ts'
import { patchDoesNotApply } from './patch-errors.ts'

/**
 * Elements that insertions and removals may shift in total: it limits the cost of many operations
 * on a long list.
 */
const SHIFTED_MAX = 20_000_000

/**
 * A document that is changed by one operation after the other. Input values are never changed: a
 * container is copied at the first change inside it, and the copy is owned by the draft.
 */
export class PatchDraft {
  #root: Json
  readonly #owned = new WeakSet<object>()
  #shifted = 0

  constructor(document: Json) {
    this.#root = document
  }

  get document(): Json {
    return this.#root
  }

  /**
   * @param missing the value of a missing last member; undefined: a missing member is an error
   * @throws ApiError Invalid: the path does not exist
   */
  read(pointer: Pointer, missing?: Json): Json {
    let value = this.#root
    pointer.steps.forEach((step, at) => {
      let next: Json | undefined
      if (isJsonList(value)) next = value[indexOf(step, value.length, pointer)]
      else if (isJsonObject(value)) next = memberOf(value, step)
      if (next === undefined && at === pointer.steps.length - 1 && isJsonObject(value)) next = missing
      if (next === undefined) throw leadsNowhere(pointer)
      value = next
    })
    return value
  }

  /**
   * Sets a member or inserts an element; `-` is the end of a list.
   * @throws ApiError Invalid; RequestEntityTooLarge: too many shifted elements
   */
  add(pointer: Pointer, value: Json): void {
    const step = pointer.steps.at(-1)
    if (step === undefined) {
      this.#root = value
      return
    }
    const parent = this.#ownedParent(pointer)
    if (!Array.isArray(parent)) {
      setMember(parent, step, value)
      return
    }
    const index = step === '-' ? parent.length : indexOf(step, parent.length + 1, pointer)
    this.#shift(parent.length - index)
    parent.splice(index, 0, value)
  }

  /** @throws ApiError Invalid: there is nothing to replace */
  replace(pointer: Pointer, value: Json): void {
    const step = pointer.steps.at(-1)
    if (step === undefined) {
      this.#root = value
      return
    }
    const parent = this.#ownedParent(pointer)
    if (Array.isArray(parent)) parent[indexOf(step, parent.length, pointer)] = value
    else if (memberOf(parent, step) === undefined) throw leadsNowhere(pointer)
    else setMember(parent, step, value)
  }

  /**
   * @throws ApiError Invalid: there is nothing to remove; RequestEntityTooLarge: too many shifted
   *   elements
   */
  remove(pointer: Pointer): void {
    const step = pointer.steps.at(-1)
    if (step === undefined) throw leadsNowhere(pointer)
    const parent = this.#ownedParent(pointer)
    if (Array.isArray(parent)) {
      const index = indexOf(step, parent.length, pointer)
      this.#shift(parent.length - index)
      parent.splice(index, 1)
    } else if (memberOf(parent, step) === undefined) {
      throw leadsNowhere(pointer)
    } else {
      delete parent[step]
    }
  }

  /**
   * Returns the container of the last step, after copying all containers on the path that the draft
   * does not own.
   */
  #ownedParent(pointer: Pointer): Json[] | JsonObjectDraft {
    let parent = this.#own(this.#root, pointer)
    this.#root = parent
    for (const step of pointer.steps.slice(0, -1)) {
      const name = Array.isArray(parent) ? indexOf(step, parent.length, pointer) : step
      const child = Array.isArray(parent) ? parent[Number(name)] : memberOf(parent, step)
      const owned = this.#own(child, pointer)
      if (Array.isArray(parent)) parent[Number(name)] = owned
      else setMember(parent, step, owned)
      parent = owned
    }
    return parent
  }

  #own(value: Json | undefined, pointer: Pointer): Json[] | JsonObjectDraft {
    if (!isJsonList(value) && !isJsonObject(value)) throw leadsNowhere(pointer)
    // Owned containers were created below, as drafts.
    if (this.#owned.has(value)) return value as Json[] | JsonObjectDraft
    const copy: Json[] | JsonObjectDraft = isJsonList(value) ? [...value] : { ...value }
    this.#owned.add(copy)
    return copy
  }

  #shift(elements: number): void {
    this.#shifted += elements
    if (this.#shifted > SHIFTED_MAX) throw tooLarge('the JSON patch moves too many list elements')
  }
}

/** Returns a deep copy, for a value that occurs twice in a draft. */
export function deepCopy(value: Json): Json {
  if (isJsonList(value)) return value.map(deepCopy)
  if (!isJsonObject(value)) return value
  const copy: JsonObjectDraft = {}
  for (const name of Object.keys(value)) setMember(copy, name, deepCopy(value[name] as Json))
  return copy
}

/** Returns an index below `length`; a negative one counts from the end. */
function indexOf(step: string, length: number, pointer: Pointer): number {
  if (!/^(?:0|-?[1-9][0-9]{0,9})$/.test(step)) throw leadsNowhere(pointer)
  const index = Number(step) < 0 ? Number(step) + length : Number(step)
  if (index < 0 || index >= length) {
    throw patchDoesNotApply(`Unable to access invalid index: ${step} in path ${pointer.text}`)
  }
  return index
}

function leadsNowhere(pointer: Pointer): Error {
  return patchDoesNotApply(`doc is missing path: ${pointer.text}: missing value`)
}
