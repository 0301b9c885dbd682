import type { Json, JsonObject } from '../../../src/api/json.ts'
import { isJsonObject, textMember } from '../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts'

/**
 * An object as a flat map from each path to the value at it, as texts. Elements of lists and
 * entries of maps have a path of their own that ends with `/`, because they exist even without
 * members.
 */
export type Flat = ReadonlyMap<string, string>

export function flatten(schema: Schema, value: Json, at = ''): Map<string, string> {
  const flat = new Map<string, string>()
  const inside = (of: Schema, next: Json, path: string): void => {
    for (const [below, text] of flatten(of, next, path)) flat.set(below, text)
  }
  if (value === null) return flat
  if (schema.type === 'object' && schema.mapType !== 'atomic') {
    for (const [name, next] of Object.entries(value as JsonObject)) {
      inside(schema.properties[name] as Schema, next, `${at}.${name}`)
    }
  } else if (schema.type === 'map') {
    for (const [key, next] of Object.entries(value as JsonObject)) {
      if (isJsonObject(next)) flat.set(`${at}.${key}/`, '')
      inside(schema.values, next, `${at}.${key}${isJsonObject(next) ? '/' : ''}`)
    }
  } else if (schema.type === 'list' && schema.listType !== undefined) {
    for (const item of value as readonly Json[]) {
      const key = isJsonObject(item) ? textMember(item, 'name') : (item as string)
      flat.set(`${at}[${key}]/`, '')
      if (isJsonObject(item)) inside(schema.items, item, `${at}[${key}]/`)
    }
  } else flat.set(at, JSON.stringify(value))
  return flat
}

/** Returns the paths of a field set as `flatten` spells them, without those of whole structs. */
export function flatPaths(schema: ObjectSchema, fieldsV1: JsonObject): ReadonlySet<string> {
  const found = new Set<string>()
  const walk = (of: Schema, node: JsonObject, at: string): void => {
    const isInside = Object.keys(node).some((step) => step !== '.')
    const isWhole = of.type === 'object' || of.type === 'map' || of.type === 'list'
    const isGranular = !('mapType' in of && of.mapType === 'atomic') && isWhole && !isAtomicList(of)
    if (at.endsWith('/')) {
      if (!isInside || '.' in node) found.add(at)
    } else if (!isGranular) found.add(at)
    for (const [step, next] of Object.entries(node)) {
      if (step === '.') continue
      const [type, path] = below(of, step, at)
      walk(type, next as JsonObject, path)
    }
  }
  for (const [step, next] of Object.entries(fieldsV1)) {
    const [type, path] = below(schema, step, '')
    walk(type, next as JsonObject, path)
  }
  return found
}

function isAtomicList(schema: Schema): boolean {
  return schema.type === 'list' && schema.listType === undefined
}

const scalar: Schema = { type: 'string' }

function below(schema: Schema, step: string, at: string): readonly [Schema, string] {
  const text = step.slice(2)
  if (step.startsWith('v:')) return [scalar, `${at}[${JSON.parse(text) as string}]/`]
  if (step.startsWith('k:')) {
    const { name } = JSON.parse(text) as { readonly name: string }
    return [schema.type === 'list' ? schema.items : scalar, `${at}[${name}]/`]
  }
  if (schema.type === 'map') {
    return [schema.values, `${at}.${text}${schema.values.type === 'object' ? '/' : ''}`]
  }
  return [schema.type === 'object' ? (schema.properties[text] as Schema) : scalar, `${at}.${text}`]
}

/**
 * A model of server-side apply without trees: the owners of each path are a function of the history
 * of writes.
 */
export class ApplyModel {
  live = new Map<string, string>()
  readonly owners = new Map<string, ReadonlySet<string>>()

  /** @returns the paths that conflict, as `manager path` */
  conflicts(manager: string, config: Flat): ReadonlySet<string> {
    const found = new Set<string>()
    for (const [path, value] of config) {
      if (this.live.get(path) === value) continue
      for (const [other, owned] of this.owners) {
        if (other !== manager && owned.has(path)) found.add(`${other} ${path}`)
      }
    }
    return found
  }

  apply(manager: string, config: Flat): void {
    const before = this.owners.get(manager) ?? new Set()
    const next = new Map([...this.live, ...config])
    for (const path of before) {
      if (config.has(path) || this.#isOwned(path, manager)) continue
      for (const known of [...next.keys()]) {
        if (known === path || (path.endsWith('/') && known.startsWith(path))) next.delete(known)
      }
    }
    this.#become(manager, next)
    this.owners.set(manager, new Set(config.keys()))
  }

  update(manager: string, object: Flat): void {
    const changed = [...object].filter(([path, value]) => this.live.get(path) !== value)
    this.#become(manager, new Map(object))
    const kept = this.owners.get(manager) ?? new Set()
    this.owners.set(manager, new Set([...kept, ...changed.map(([path]) => path)]))
  }

  /** Others lose the paths that change, and all managers those that are removed. */
  #become(manager: string, next: Map<string, string>): void {
    for (const [other, owned] of this.owners) {
      const left = [...owned].filter(
        (path) => next.has(path) && (other === manager || next.get(path) === this.live.get(path)),
      )
      this.owners.set(other, new Set(left))
    }
    this.live = next
  }

  #isOwned(path: string, except: string): boolean {
    return [...this.owners].some(([other, owned]) => other !== except && owned.has(path))
  }
}
