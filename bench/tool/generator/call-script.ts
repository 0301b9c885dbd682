import { assertNever } from '../../../base/assert.ts'
import type { Recipe } from './recipe.ts'
import { collectionOf, configMap, withQuery } from './requests.ts'
import type { Asked } from './requests.ts'
import type { WireAnswer } from './wire-connection.ts'

/** One request of an operation, and what it should be answered. */
export type Step<Request> = {
  readonly request: Request
  /** Statuses that are a success. */
  readonly expect: readonly number[]
  readonly keepBytes: number
}

/** What one client sends: the requests of its operations, one after the other. */
export type CallScript<Request> = {
  /** Of operation `n`; null: there are no more. */
  readonly first: (n: number) => Step<Request> | null
  /** What follows upon an answer; null: the operation is done. */
  readonly next: (answer: WireAnswer) => Step<Request> | null
  /** An operation that failed is tried again. */
  readonly repeats: boolean
}

/** Distinct requests a client prepares of a get: enough not to ask for one object only. */
const preparedMax = 64
const ok: readonly number[] = [200]
const created: readonly number[] = [201]
/** Who asks again after no answer may find what was made. */
const createdOrThere: readonly number[] = [201, 409]
/** Behind which the token of the next page has begun and ended. */
const listHeadBytes = 8 * 1024

/** Makes a request ready to be sent. */
type Prepare<Request> = (asked: Asked) => Request

/** @param client from 0, of all clients of the load */
export function scriptOf<Request>(
  recipe: Recipe,
  client: number,
  prepare: Prepare<Request>,
): CallScript<Request> {
  switch (recipe.kind) {
    case 'path': {
      const step = { request: prepare({ method: 'GET', path: recipe.path }), expect: ok, keepBytes: 0 }
      return single(() => step)
    }
    case 'get':
      return getScript(recipe, client, prepare)
    case 'create':
    case 'fill':
      return createScript(recipe, client, prepare)
    case 'update': {
      const { namespace, prefix, payloadBytes } = recipe
      const name = `${prefix}${client}`
      const body = (n: number): string => configMap(name, payloadBytes, `${n}`)
      const path = `${collectionOf(namespace)}/${name}`
      return single((n) => ({
        request: prepare({ method: 'PUT', path, body: body(n) }),
        expect: ok,
        keepBytes: 0,
      }))
    }
    case 'list':
      return listScript(recipe, prepare)
    default:
      return assertNever(recipe)
  }
}

function single<Request>(first: (n: number) => Step<Request> | null): CallScript<Request> {
  return { first, next: () => null, repeats: false }
}

function getScript<Request>(
  { namespace, prefix, objects, form }: Recipe & { readonly kind: 'get' },
  client: number,
  prepare: Prepare<Request>,
): CallScript<Request> {
  // Of many objects those all over the collection.
  const stride = Math.max(1, Math.floor(objects / preparedMax))
  const steps = Array.from({ length: Math.min(objects, preparedMax) }, (_, at): Step<Request> => {
    const name = `${prefix}${(client + at * stride) % objects}`
    const path = withQuery(`${collectionOf(namespace)}/${name}`, form.query)
    const { consistency } = form
    return { request: prepare({ method: 'GET', path, consistency }), expect: ok, keepBytes: 0 }
  })
  return single((n) => steps[n % steps.length] ?? null)
}

function createScript<Request>(
  recipe: Recipe & { readonly kind: 'create' | 'fill' },
  client: number,
  prepare: Prepare<Request>,
): CallScript<Request> {
  const path = collectionOf(recipe.namespace)
  const nameOf = (n: number): string | null => {
    if (recipe.kind === 'create') return n < recipe.each ? `${recipe.prefix}${client}-${n}` : null
    const number = client + n * recipe.clients
    return number < recipe.objects ? `${recipe.prefix}${number}` : null
  }
  const script = single((n) => {
    const name = nameOf(n)
    if (name === null) return null
    const body = configMap(name, recipe.payloadBytes)
    const expect = recipe.kind === 'fill' ? createdOrThere : created
    return { request: prepare({ method: 'POST', path, body }), expect, keepBytes: 0 }
  })
  return { ...script, repeats: recipe.kind === 'fill' }
}

function listScript<Request>(
  { namespace, page, form }: Recipe & { readonly kind: 'list' },
  prepare: Prepare<Request>,
): CallScript<Request> {
  const { consistency } = form
  const step = (...queries: readonly string[]): Step<Request> => {
    const path = withQuery(collectionOf(namespace), ...queries)
    const request = prepare({ method: 'GET', path, consistency })
    return { request, expect: ok, keepBytes: page === null ? 0 : listHeadBytes }
  }
  const limit = page === null ? '' : `limit=${page}`
  const whole = step(form.query, limit)
  return {
    repeats: false,
    first: () => whole,
    next: ({ start }) => {
      // A later page is of the version of the first, whatever mode that was asked in.
      const token = page === null ? null : continueOf(start)
      if (token === null) return null
      const path = withQuery(collectionOf(namespace), limit, `continue=${encodeURIComponent(token)}`)
      return {
        request: prepare({ method: 'GET', path }),
        expect: ok,
        keepBytes: listHeadBytes,
      }
    },
  }
}

/** Of the metadata of a list, which stands before its items. @returns null on the last page */
function continueOf(start: string): string | null {
  const head = start.split('"items":', 1)[0] ?? ''
  const token = /"continue":"([^"]+)"/.exec(head)?.[1]
  return token === undefined ? null : token
}
