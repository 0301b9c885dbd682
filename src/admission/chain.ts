import type { Condition, Operation } from '../store/command.ts'
import type { AdmittedObjects } from '../registry/calls/admission-context.ts'
import type { Admission, AdmissionRequest } from '../registry/calls/admission.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/** An admission plugin. Each of its functions is optional. */
export type AdmissionPlugin = LocalPlugin | RemotePlugin

/**
 * A synchronous plugin. It may be called several times for one request. Its side effects, such as
 * the count of a rate limit, must happen only once per request.
 */
export type LocalPlugin = {
  readonly name: string
  readonly callsOut?: false
  /**
   * Returns the mutated object.
   * @throws ApiError to reject
   */
  readonly mutate?: (request: AdmissionRequest) => AnyObject | null
  /** @throws ApiError to reject */
  readonly validate?: (request: AdmissionRequest) => void
  /** See `Admission.extraOperations`. */
  readonly extraOperations?: (request: AdmissionRequest) => readonly Operation[]
  /** See `Admission.extraConditions`. */
  readonly extraConditions?: (request: AdmissionRequest) => readonly Condition[]
}

/**
 * A plugin that may call another process. Its results are cached for the request: it is called
 * again only when the objects differ from those of the previous call.
 */
export type RemotePlugin = {
  readonly name: string
  readonly callsOut: true
  /** Whether it handles a request; otherwise it is not called. Unset: every request. */
  readonly concerns?: (request: AdmissionRequest) => boolean
  /** As in `LocalPlugin`. */
  readonly mutate?: (request: AdmissionRequest) => Promise<AnyObject | null>
  readonly validate?: (request: AdmissionRequest) => Promise<void>
}

/**
 * Runs all plugins in order: each sees the object as the earlier ones left it, and the first
 * rejection decides. Asynchronous only where a plugin calls out.
 */
export function admissionChain(plugins: readonly AdmissionPlugin[], observer?: AdmissionObserver): Admission {
  const mutators = plugins.flatMap((plugin) =>
    mutatorOf(plugin).map((run) => observer?.plugin(plugin.name, 'mutating', run) ?? run),
  )
  const validators = plugins.flatMap((plugin) =>
    validatorOf(plugin).map((run) => observer?.plugin(plugin.name, 'validating', run) ?? run),
  )
  const extras = plugins.flatMap((plugin) =>
    plugin.callsOut === true || plugin.extraOperations === undefined ? [] : [plugin.extraOperations],
  )
  const conditions = plugins.flatMap((plugin) =>
    plugin.callsOut === true || plugin.extraConditions === undefined ? [] : [plugin.extraConditions],
  )
  const mutate = (request: AdmissionRequest): ReturnType<Mutator> => mutated(mutators, request, 0)
  const validate = (request: AdmissionRequest): void | Promise<void> => validated(validators, request, 0)
  return {
    mutate: observer?.step('mutating', mutate) ?? mutate,
    validate: observer?.step('validating', validate) ?? validate,
    extraOperations: (request) => allOf(extras, request),
    extraConditions: (request) => allOf(conditions, request),
  }
}

function allOf<T>(
  parts: readonly ((request: AdmissionRequest) => readonly T[])[],
  request: AdmissionRequest,
): readonly T[] {
  const [first] = parts
  if (first === undefined) return []
  return parts.length === 1 ? first(request) : parts.flatMap((part) => part(request))
}

/** Measures plugins and whole phases. Each function returns the given one, measured. */
export type AdmissionObserver = {
  readonly plugin: <T>(name: string, phase: AdmissionPhase, run: AdmissionFunction<T>) => AdmissionFunction<T>
  readonly step: <T>(phase: AdmissionPhase, run: AdmissionFunction<T>) => AdmissionFunction<T>
}

export type AdmissionPhase = 'mutating' | 'validating'
export type AdmissionFunction<T> = (request: AdmissionRequest) => T

function objectsOf({ object, oldObject }: AdmissionRequest): AdmittedObjects {
  return { object, oldObject }
}

type Mutator = (request: AdmissionRequest) => AnyObject | null | Promise<AnyObject | null>
type Validator = (request: AdmissionRequest) => void | Promise<unknown>

function mutatorOf(plugin: AdmissionPlugin): readonly Mutator[] {
  if (plugin.callsOut !== true) return plugin.mutate === undefined ? [] : [plugin.mutate]
  const { name, mutate, concerns = always } = plugin
  if (mutate === undefined) return []
  return [
    (request) => {
      if (!concerns(request)) return request.object
      const { context, operation } = request
      return context.askOnce(`mutate ${name} ${operation}`, objectsOf(request), () => mutate(request))
    },
  ]
}

function validatorOf(plugin: AdmissionPlugin): readonly Validator[] {
  if (plugin.callsOut !== true) return plugin.validate === undefined ? [] : [plugin.validate]
  const { name, validate, concerns = always } = plugin
  if (validate === undefined) return []
  const ask = async (request: AdmissionRequest): Promise<null> => {
    await validate(request)
    return null
  }
  return [
    (request) => {
      if (!concerns(request)) return undefined
      const { context, operation } = request
      return context.askOnce(`validate ${name} ${operation}`, objectsOf(request), () => ask(request))
    },
  ]
}

function always(): boolean {
  return true
}

function mutated(mutators: readonly Mutator[], request: AdmissionRequest, from: number): ReturnType<Mutator> {
  let { object } = request
  for (let at = from; at < mutators.length; at++) {
    const answer = mutators[at]?.(object === request.object ? request : { ...request, object }) ?? null
    if (answer instanceof Promise) {
      return answer.then((changed) => mutated(mutators, { ...request, object: changed }, at + 1))
    }
    object = answer
  }
  return object
}

function validated(
  validators: readonly Validator[],
  request: AdmissionRequest,
  from: number,
): void | Promise<void> {
  for (let at = from; at < validators.length; at++) {
    const answer = validators[at]?.(request)
    if (answer instanceof Promise) return answer.then(() => validated(validators, request, at + 1))
  }
}
