import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { equalJson } from '../../api/json.ts'
import { formatTime } from '../../api/metadata/time.ts'
import type { AnyObject, WriteContext } from '../kinds/definition.ts'
import { randomUid } from '../kinds/metadata.ts'
import { noConverter } from '../kinds/object-converter.ts'
import type { ObjectConverter } from '../kinds/object-converter.ts'
import type { RequestContext } from './request.ts'

/**
 * State of admission for one request. It lives as long as the request and therefore survives every
 * retry: a lost race, a refusal that is evaluated again after a read barrier, a custom kind whose
 * schema changed, a key of encrypted objects that arrived.
 */
export class AdmissionContext {
  /**
   * User, deadline and abort signal of the request, and the sinks for warnings and audit
   * annotations.
   */
  readonly request: RequestContext
  readonly #clock: Clock
  readonly #random: Random
  /** Created on first use: most requests need no external call. */
  #answers: Map<string, RememberedAnswer> | null = null
  #requestUid: string | null = null
  #writing: WriteContext | null = null
  /**
   * The refusal of this request that was evaluated after a read barrier with the current
   * definition. null: none yet.
   */
  confirmedRefusal: ApiError | null = null

  /** Converts objects of custom kinds for webhooks that get another version of them. */
  readonly converter: ObjectConverter

  constructor(
    request: RequestContext,
    dependencies: { readonly clock: Clock; readonly random: Random; readonly converter?: ObjectConverter },
  ) {
    this.request = request
    this.converter = dependencies.converter ?? noConverter
    this.#clock = dependencies.clock
    this.#random = dependencies.random
  }

  /** User and time of the request, which objects may record. The same in every evaluation. */
  get writing(): WriteContext {
    this.#writing ??= { user: this.request.user, time: formatTime(this.#clock.wallMs()) }
    return this.#writing
  }

  /** Identifies this request; the same in every retry. Generated on first use. */
  get requestUid(): string {
    this.#requestUid ??= randomUid(this.#random)
    return this.#requestUid
  }

  /**
   * Calls an external service through `ask` and caches the result, refusals included. The service
   * is called again only if the objects differ from those of the previous call: a retry alone does
   * not call it.
   *
   * @param name identifies the service; one result is cached for each name
   * @throws ApiError
   */
  async askOnce<T extends AnyObject | null>(
    name: string,
    about: AdmittedObjects,
    ask: () => Promise<T>,
  ): Promise<T> {
    this.#answers ??= new Map()
    const answers = this.#answers
    const known = answers.get(name)
    if (known !== undefined && isSame(known.about, about)) {
      if (known.refusal !== null) throw known.refusal
      // The previous call under this name returned the same type.
      return known.value as T
    }
    try {
      const value = await ask()
      answers.set(name, { about, value, refusal: null })
      return value
    } catch (cause) {
      if (cause instanceof ApiError) answers.set(name, { about, value: null, refusal: cause })
      throw cause
    }
  }
}

/** The objects that an external call is about. */
export type AdmittedObjects = { readonly object: AnyObject | null; readonly oldObject: AnyObject | null }

type RememberedAnswer = {
  readonly about: AdmittedObjects
  readonly value: AnyObject | null
  readonly refusal: ApiError | null
}

function isSame(a: AdmittedObjects, b: AdmittedObjects): boolean {
  return equalJson(a.object, b.object) && equalJson(a.oldObject, b.oldObject)
}
