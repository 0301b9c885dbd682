import { assertNever } from '../../../base/assert.ts'
import type { Recipe } from './recipe.ts'
import { collectionOf, configMap, withQuery } from './requests.ts'
import type { HttpRequest } from './requests.ts'
import type { WireAnswer } from './wire-connection.ts'

/** One request of an operation, and the expected statuses. */
export type Step<Request> = {
  readonly request: Request
  /** Statuses that count as success. */
  readonly expect: readonly number[]
  readonly keepBytes: number
}

/** The requests of one client. */
export type CallScript<Request> = {
  /** Returns the first request of operation `n`; null: the script is complete. */
  readonly first: (n: number) => Step<Request> | null
  /** Returns the request after a response; null: the operation is complete. */
  readonly next: (answer: WireAnswer) => Step<Request> | null
  /** Whether a failed operation is retried. */
  readonly repeats: boolean
}

/** Prepared get requests per client: enough to spread them over many objects. */
const preparedMax = 64
const ok: readonly number[] = [200]
const created: readonly number[] = [201]
/** A retry after a lost response may find the object that the first attempt created. */
const createdOrThere: readonly number[] = [201, 409]
/** Bytes kept from the start of a list, which contain the continue token. */
const listHeadBytes = 8 * 1024

/** Serializes a request. */
type Prepare<Request> = (requested: HttpRequest) => Request

/** @param client number of the client from 0, among all clients of the load */
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
    case 'update':
    case 'patch':
    case 'apply':
      return single((n) => ({
        request: prepare(changeRequest(recipe, client, n)),
        expect: ok,
        keepBytes: 0,
      }))
    case 'list':
      return listScript(recipe, prepare)
    default:
      return assertNever(recipe)
  }
}

function single<Request>(first: (n: number) => Step<Request> | null): CallScript<Request> {
  return { first, next: () => null, repeats: false }
}

/** @param n is written into the object, so that each request changes it */
function changeRequest(
  { kind, namespace, prefix, payloadBytes }: Recipe & { readonly kind: 'update' | 'patch' | 'apply' },
  client: number,
  n: number,
): HttpRequest {
  const name = `${prefix}${client}`
  const path = `${collectionOf(namespace)}/${name}`
  switch (kind) {
    case 'update':
      return { method: 'PUT', path, body: configMap(name, payloadBytes, `${n}`) }
    case 'patch': {
      const contentType = 'application/merge-patch+json'
      return { method: 'PATCH', path, contentType, body: JSON.stringify({ data: { mark: `${n}` } }) }
    }
    case 'apply': {
      const contentType = 'application/apply-patch+yaml'
      const applied = withQuery(path, 'fieldManager=bench', 'force=true')
      return { method: 'PATCH', path: applied, contentType, body: configMap(name, payloadBytes, `${n}`) }
    }
    default:
      return assertNever(kind)
  }
}

function getScript<Request>(
  { namespace, prefix, objects, form }: Recipe & { readonly kind: 'get' },
  client: number,
  prepare: Prepare<Request>,
): CallScript<Request> {
  // If there are more objects than requests, the requests are spread evenly over them.
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
      // Later pages have the version of the first one, so no mode is sent.
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

/**
 * Extracts the continue token from the metadata, which precedes the items.
 *
 * @returns null on the last page
 */
function continueOf(start: string): string | null {
  const head = start.split('"items":', 1)[0] ?? ''
  const token = /"continue":"([^"]+)"/.exec(head)?.[1]
  return token === undefined ? null : token
}
