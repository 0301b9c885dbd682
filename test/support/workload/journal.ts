/** One request of the controller to create a Pod. */
export type Creation = {
  /** In an annotation of the Pod. */
  readonly id: string
  /** The UID of the ReplicaSet. */
  readonly owner: string
  /** The size of the ReplicaSet that the controller knew, and the version that has it. */
  readonly replicas: number
  readonly ownerVersion: number
  /** `pending`: there is no answer yet, or the process that sent it ended before. */
  outcome: 'pending' | 'created' | 'refused' | 'unknown'
  /** The next leader may have listed the Pods before the request took effect. */
  isAbandoned: boolean
  /** The Pod in the answer. */
  pod: { readonly name: string; readonly uid: string; readonly version: number } | null
}

export type Deletion = {
  readonly uid: string
  /** `test`: at random. `agent`: with grace 0, after a deletion by one of the others. */
  readonly by: 'test' | 'controller' | 'agent'
  outcome: 'pending' | 'deleted' | 'refused' | 'unknown'
}

export type Binding = {
  readonly uid: string
  readonly node: string
  outcome: 'pending' | 'bound' | 'refused' | 'unknown'
}

/** The time in which one replica of the controller led; `endMs` is null until it ended. */
export type Term = { readonly identity: string; readonly startMs: number; endMs: number | null }

/** The requests of the clients of the test, and their answers, for the checks. */
export class Journal {
  readonly creations = new Map<string, Creation>()
  readonly deletions: Deletion[] = []
  readonly bindings: Binding[] = []
  readonly terms: Term[] = []
  /** The number of requests whose outcome is unknown. */
  get unknown(): number {
    const records = [...this.creations.values(), ...this.deletions, ...this.bindings]
    return records.filter(({ outcome }) => outcome === 'unknown').length
  }

  create(of: Pick<Creation, 'id' | 'owner' | 'replicas' | 'ownerVersion'>): Creation {
    const creation: Creation = { ...of, outcome: 'pending', isAbandoned: false, pod: null }
    this.creations.set(of.id, creation)
    return creation
  }

  delete(uid: string, by: Deletion['by']): Deletion {
    const deletion: Deletion = { uid, by, outcome: 'pending' }
    this.deletions.push(deletion)
    return deletion
  }

  bind(uid: string, node: string): Binding {
    const binding: Binding = { uid, node, outcome: 'pending' }
    this.bindings.push(binding)
    return binding
  }

  /** A replica of the controller ends: the answers to its requests are not read. */
  abandon(identity: string): void {
    for (const creation of this.creations.values()) {
      if (creation.id.startsWith(`${identity}-`) && creation.outcome === 'pending')
        creation.isAbandoned = true
    }
  }
}
