import { assertNever } from '../../../raft/base/assert.ts'
import type { Endpoint } from '../../verify/endpoint.ts'
import type { Recipe } from './recipe.ts'
import { collectionOf, configMap, requestBytes, withQuery } from './requests.ts'
import type { WireAnswer } from './wire-connection.ts'

/** One request of an operation, and what it should be answered. */
export type Step = {
  readonly request: Buffer
  /** Statuses that are a success. */
  readonly expect: readonly number[]
  readonly keepBytes: number
}

/** What one client sends: the requests of its operations, one after the other. */
export type CallScript = {
  /** Of operation `n`; null: there are no more. */
  readonly first: (n: number) => Step | null
  /** What follows upon an answer; null: the operation is done. */
  readonly next: (answer: WireAnswer) => Step | null
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

/** @param client from 0, of all clients of the load */
export function scriptOf(recipe: Recipe, client: number, endpoint: Endpoint): CallScript {
  switch (recipe.kind) {
    case 'get':
      return getScript(recipe, client, endpoint)
    case 'create':
    case 'fill':
      return createScript(recipe, client, endpoint)
    case 'update': {
      const { namespace, prefix, payloadBytes } = recipe
      const name = `${prefix}${client}`
      const body = (n: number): string => configMap(name, payloadBytes, `${n}`)
      const path = `${collectionOf(namespace)}/${name}`
      return single((n) => ({
        request: requestBytes(endpoint, { method: 'PUT', path, body: body(n) }),
        expect: ok,
        keepBytes: 0,
      }))
    }
    case 'list':
      return listScript(recipe, endpoint)
    default:
      return assertNever(recipe)
  }
}

function single(first: (n: number) => Step | null): CallScript {
  return { first, next: () => null, repeats: false }
}

function getScript(
  { namespace, prefix, objects, form }: Recipe & { readonly kind: 'get' },
  client: number,
  endpoint: Endpoint,
): CallScript {
  const steps = Array.from({ length: Math.min(objects, preparedMax) }, (_, at): Step => {
    const name = `${prefix}${(client + at) % objects}`
    const path = withQuery(`${collectionOf(namespace)}/${name}`, form.query)
    const { consistency } = form
    return { request: requestBytes(endpoint, { method: 'GET', path, consistency }), expect: ok, keepBytes: 0 }
  })
  return single((n) => steps[n % steps.length] ?? null)
}

function createScript(
  recipe: Recipe & { readonly kind: 'create' | 'fill' },
  client: number,
  endpoint: Endpoint,
): CallScript {
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
    return { request: requestBytes(endpoint, { method: 'POST', path, body }), expect, keepBytes: 0 }
  })
  return { ...script, repeats: recipe.kind === 'fill' }
}

function listScript(
  { namespace, page, form }: Recipe & { readonly kind: 'list' },
  endpoint: Endpoint,
): CallScript {
  const { consistency } = form
  const step = (...queries: readonly string[]): Step => {
    const path = withQuery(collectionOf(namespace), ...queries)
    const request = requestBytes(endpoint, { method: 'GET', path, consistency })
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
        request: requestBytes(endpoint, { method: 'GET', path }),
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
