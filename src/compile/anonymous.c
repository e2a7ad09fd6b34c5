/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anonymous: sets and maps that are written in the rule become sets of src/set, owned by the
 * compiled rule and never changed. Cost: O(n log n) for n elements.
 */
#include "compile/build.h"
#include "model/check.h"

struct anonymous {
	const struct expr *elements; /* EX_SET */
	const struct prog_expr *key;
	enum anonymous_data data;
	unsigned data_len;    /* DATA_VALUE */
	enum obj_kind object; /* DATA_OBJECT */
};

static const struct expr *item_key(const struct expr *item)
{
	return item->kind == EX_ELEM ? item->elem->key : item;
}

static void desc_fields(struct set_desc *d, const struct prog_expr *key)
{
	if (key->kind != PX_CONCAT) {
		d->n_fields = 1;
		d->field_len[0] = key->len;
		return;
	}
	d->n_fields = key->concat.n;
	for (unsigned k = 0; k < key->concat.n; k++)
		d->field_len[k] = key->concat.fields[k]->len;
}

static bool has_ranges(struct build *b, const struct expr *elements)
{
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];

	for (uint32_t i = 0; i < elements->list.n; i++) {
		const struct expr *key = item_key(elements->list.items[i]);

		if (key->kind == EX_CATCHALL)
			continue;
		if (key->kind == EX_PREFIX || key->kind == EX_RANGE ||
		    (key->kind == EX_VALUE && key->flags & EXF_WILDCARD))
			return true;
		if (key->kind != EX_CONCAT)
			continue;
		memset(lo, 0, sizeof(lo));
		memset(hi, 0, sizeof(hi));
		if (!check_key_bytes(key, lo, hi))
			build_fail(b, -EINVAL);
		if (memcmp(lo, hi, sizeof(lo)))
			return true;
	}
	return false;
}

/* The data of one element as its set holds it; valid until the next call. */
static const void *item_data(struct build *b, const struct anonymous *a, const struct expr *item,
			     uint8_t *buffer)
{
	const struct expr *d = item->kind == EX_ELEM ? item->elem->data : NULL;
	struct model_verdict v = {0};
	struct model_object *object;
	char name[256];

	if (a->data == DATA_NONE)
		return NULL;
	if (!d)
		build_fail(b, -EINVAL);
	switch (a->data) {
	case DATA_VERDICT:
		if (d->kind != EX_VERDICT)
			build_fail(b, -EINVAL);
		v.code = d->verdict.code;
		v.chain = d->verdict.chain;
		memcpy(buffer, &v, sizeof(v));
		break;
	case DATA_OBJECT:
		if (d->kind == EX_SYMBOL)
			snprintf(name, sizeof(name), "%.*s", (int)MIN(d->symbol.len, 255u),
				 d->symbol.text);
		else
			snprintf(name, sizeof(name), "%.*s", (int)bits_to_bytes(d->bits),
				 (const char *)expr_bytes(d));
		object = model_object_find(b->table, a->object, name);
		if (!object)
			build_fail(b, -ENOENT);
		memcpy(buffer, &object, sizeof(object));
		break;
	default:
		if (d->kind != EX_VALUE)
			build_fail(b, -EINVAL);
		memcpy(buffer, expr_constant(b, d, a->data_len), a->data_len);
		break;
	}
	return buffer;
}

void elements_need(struct build *b, const struct stmt *stmts)
{
	for (const struct stmt *s = stmts; s; s = s->next)
		if (s->kind == ST_CONNLIMIT)
			b->out->needs |= NEED_CONNTRACK | NEED_EXACT | NEED_CONNS;
}

static void item_add(struct build *b, const struct anonymous *a, struct set *set,
		     const struct expr *item)
{
	uint8_t lo[SET_KEY_MAX] = {0}, hi[SET_KEY_MAX] = {0}, data[PROG_VALUE_MAX];
	const struct expr *key = item_key(item);
	struct state_template *template = NULL;
	struct set_item it = {.lo = lo, .hi = hi};
	int err;

	it.catchall = key->kind == EX_CATCHALL;
	if (!it.catchall && !check_key_bytes(key, lo, hi))
		build_fail(b, -EINVAL);
	it.data = item_data(b, a, item, data);
	if (item->kind == EX_ELEM && item->elem->stmts) {
		b->out->element_states = true;
		elements_need(b, item->elem->stmts);
		err = model_state_template(item->elem->stmts, &template);
		if (err)
			build_fail(b, err);
		it.template = template;
	}
	err = set_add(set, &it, 0, 0, NULL);
	state_template_free(template);
	if (err)
		build_fail(b, err);
}

static struct set *owned_set(struct build *b, const struct set_desc *d)
{
	struct set *set;
	int err = set_new(d, &set);

	if (err)
		build_fail(b, err);
	err = vec_push(&b->out->sets, set);
	if (err) {
		set_free(set);
		build_fail(b, err);
	}
	return set;
}

struct set *dynamic_build(struct build *b, const struct prog_expr *key, uint32_t size, bool timeout)
{
	enum { SIZE_DEFAULT = 65535 };
	struct set_desc d = {
		.dynamic = true,
		.timeout = timeout,
		.size = size ? size : SIZE_DEFAULT,
		.ext_size = state_list_ext_size,
		.ext_init = state_list_ext_init,
		.ext_fini = state_list_ext_fini,
	};

	desc_fields(&d, key);
	return owned_set(b, &d);
}

static struct set *anonymous_build(struct build *b, const struct anonymous *a)
{
	struct set_desc d = {
		.ext_size = state_list_ext_size,
		.ext_init = state_list_ext_init,
		.ext_fini = state_list_ext_fini,
	};
	struct set *set;

	desc_fields(&d, a->key);
	d.interval = has_ranges(b, a->elements);
	d.auto_merge = a->data == DATA_NONE;
	if (a->data == DATA_VERDICT)
		d.data_len = sizeof(struct model_verdict);
	else if (a->data == DATA_OBJECT)
		d.data_len = sizeof(struct model_object *);
	else if (a->data == DATA_VALUE)
		d.data_len = (uint16_t)a->data_len;
	set = owned_set(b, &d);
	for (uint32_t i = 0; i < a->elements->list.n; i++)
		item_add(b, a, set, a->elements->list.items[i]);
	return set;
}

struct set *set_build(struct build *b, const struct expr *set, const struct prog_expr *key,
		      enum anonymous_data data, unsigned data_len, enum obj_kind object)
{
	struct anonymous a = {
		.elements = set,
		.key = key,
		.data = data,
		.data_len = data_len,
		.object = object,
	};
	const struct model_set *named;

	if (set->kind == EX_SET)
		return anonymous_build(b, &a);
	named = set->kind == EX_SETREF ? set->setref.set : NULL;
	if (!named || set_key_len(named->set) != key->len)
		build_fail(b, -EINVAL);
	/* Of a range in the map the first value counts, as for the kernel. */
	if (data == DATA_VALUE &&
	    set_desc_of(named->set)->data_len != (named->decl.data.interval ? 2 : 1) * data_len)
		build_fail(b, -EINVAL);
	if (named->decl.flags & SETF_DYNAMIC)
		b->out->needs |= NEED_EXACT;
	elements_need(b, named->decl.stmts);
	return named->set;
}
