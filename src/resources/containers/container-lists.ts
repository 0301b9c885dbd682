/** Members of a Pod's spec that are containers. */
export const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const
